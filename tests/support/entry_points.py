"""Packages with a transport, as an installer leaves them."""

from __future__ import annotations

from pathlib import Path


def install_entry_point(folder: Path, name: str, target: str, code: str = "") -> None:
    """Write the files that an installer leaves of a package with this entry point."""
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[acp_nvim.transports]\n{name} = {target}\n")
