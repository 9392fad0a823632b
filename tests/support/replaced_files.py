"""Project in which an agent replaces `f.txt` with something else by a shell command.

Example:

    make(work)
    subprocess.run(["sh", "-c", f"rm f.txt; {PLACES['fifo']}"], cwd=work, check=True)
    assert tree(work)["f.txt"] == "fifo"
"""

from __future__ import annotations

import stat
from pathlib import Path

TEXT = "one\ntwo\n"
PLACES = {
    "fifo": "mkfifo f.txt",
    "link": "ln -s other.txt f.txt",
    "dangling link": "ln -s nowhere f.txt",
    "link to a folder": "ln -s kept f.txt",
    "folder": "mkdir f.txt",
    "deep folder": "mkdir -p f.txt/a/b",
    "full folder": "mkdir -p f.txt/a; echo x > f.txt/x.txt; echo y > f.txt/a/y.txt",
}


def make(work: Path) -> None:
    """Make `f.txt` and files that stay."""
    (work / "kept").mkdir()
    for name, text in (("f.txt", TEXT), ("other.txt", "other\n"), ("kept/k.txt", "kept\n")):
        (work / name).write_text(text)


def replaced(kind: str) -> dict[str, str]:
    """Return the kinds of edits that are pending after `PLACES[kind]`."""
    more = {"f.txt/x.txt": "created", "f.txt/a/y.txt": "created"}
    return {"f.txt": "deleted"} | (more if kind == "full folder" else {})


def tree(work: Path) -> dict[str, str]:
    """Return contents, link targets or kinds of all entries by path; only regular files are
    opened.
    """
    found: dict[str, str] = {}
    for path in sorted(work.rglob("*")):
        name = str(path.relative_to(work))
        mode = path.lstat().st_mode
        if name.startswith(".git"):
            continue
        if stat.S_ISLNK(mode):
            found[name] = f"-> {path.readlink()}"
        elif stat.S_ISREG(mode):
            found[name] = path.read_text()
        else:
            found[name] = "fifo" if stat.S_ISFIFO(mode) else "folder"
    return found
