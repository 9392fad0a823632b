"""`python -m tests.torture` lists the kinds of random tests; `… KIND SEED …` runs one of them."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

HEAD = """Random tests: each kind draws histories from a seed and says which of them fail.

usage: python -m tests.torture KIND SEED [STEPS] [COUNT]
"""


def kinds() -> dict[str, tuple[str, str]]:
    """Return the modules of this folder that can be run: name -> (arguments, summary)."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        usage = re.search(rf"python -m tests\.torture\.{path.stem} ([A-Z ]+)`", text)
        if usage:
            found[path.stem] = usage[1], text.partition("\n")[0]
    return found


def listing() -> str:
    rows = [f"  {name} {usage}\n      {does}" for name, (usage, does) in kinds().items()]
    return "\n".join([HEAD, *rows])


def main(words: Sequence[str]) -> int:
    """Run one kind or list all, and return the exit code."""
    if len(words) > 1 and words[0] in kinds():
        sys.argv = list(words)
        runpy.run_module(f"tests.torture.{words[0]}", run_name="__main__")
        return 0
    print(listing())
    return 0 if words in ([], ["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
