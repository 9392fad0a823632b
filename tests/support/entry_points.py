"""Packages that bring a transport, as an installer leaves them."""

from __future__ import annotations

from pathlib import Path


def installed(folder: Path, name: str, target: str, code: str = "") -> None:
    """What an installer leaves of a package with that entry point."""
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[acp_nvim.transports]\n{name} = {target}\n")
