"""Public names: the tags of the manual for commands, functions, events, options and `<Plug>` maps.

`python -m tests.project.public_names` records them with a release in `tests/data/public_names.txt`.
"""

from __future__ import annotations

import re

from tests.support.editor import ROOT

RECORD = ROOT / "tests/data/public_names.txt"
_TAG = re.compile(r"(?<!\S)\*([^\s*|]+)\*(?!\S)")
_PUBLIC = re.compile(r":Acp|acp\.\w+\(\)|acp-option-|Acp[A-Z]|<Plug>\(acp-")


def public_names() -> list[str]:
    """Return the public names of this version."""
    text = (ROOT / "doc/acp.txt").read_text(encoding="utf-8")
    return sorted({tag for tag in _TAG.findall(text) if _PUBLIC.match(tag)})


if __name__ == "__main__":
    RECORD.write_text("\n".join(public_names()) + "\n", encoding="utf-8")
