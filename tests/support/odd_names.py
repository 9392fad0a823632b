"""Table of deceptive file names for all tests of paths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

BYTES = os.fsdecode(b"not utf-8 \xff\xe9.txt")
"""A name that is not UTF-8."""

ODD_NAMES: Sequence[str] = (
    "plain.txt",
    "a b.txt",
    "a  two  blanks.txt",
    "dir with blank/a b.txt",
    " leading blank.txt",
    "trailing blank ",
    "line\nbreak.txt",
    "dir\nbreak/a.txt",
    "tab\there.txt",
    "it's.txt",
    'double"quote.txt',
    "back`tick`.txt",
    "$USER.txt",
    "$HOME/a.txt",
    "${USER}.txt",
    "~/home.txt",
    "~tilde.txt",
    "%",
    "%:h.txt",
    "100%.txt",
    "%#Error#.txt",
    "#1.txt",
    "##",
    "<cword>",
    "[1].txt",
    "a[b-d]c.txt",
    "star*.txt",
    "who?.txt",
    "{a,b}.txt",
    "{this}",
    "back\\slash.txt",
    "back\\ slash.txt",
    "-n.txt",
    "-",
    "+10.txt",
    "++enc=latin1.txt",
    "bar|echo 1.txt",
    "<cr>.txt",
    "!echo.txt",
    "comma, and; colon:.txt",
    "ends with a dot.",
    "(round).txt",
    "at@sign.txt",
    "@leading.txt",
    "all",
    "prompt",
    "name.txt:12",
    "http:/address.txt",
    "caf\u00e9.txt",
    "cafe\u0301.txt",
    "\u202etxt.exe",
    "zero\u200bwidth.txt",
    "\U0001f600 \U0001f468\u200d\U0001f469.txt",
    "\x1b[31mred.txt",
    "carriage\rreturn.txt",
    BYTES,
)


def make_odd_files(folder: Path, text: str = "one\n") -> list[Path]:
    """Make a file with each odd name below a folder. Return their paths."""
    paths = [Path(f"{folder}/{name}") for name in ODD_NAMES]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return paths
