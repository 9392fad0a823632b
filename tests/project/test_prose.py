"""Prose of docstrings, comments and the map: the number of stiff phrases may only fall."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.stiff_phrases import STIFF

ROOT = Path(__file__).resolve().parent.parent.parent
CLAUSES = (
    *("what is", "what was", "what are", "where there", "where it", "who is", "of ours"),
    *("of theirs", "nobody", "somebody", "so that none", "stands for", "thereof", "are told"),
    *("what it", "what they", "what an", "what comes", "what stands", "what goes", "what has"),
    *("what becomes", "hears", "was told", "be told"),
)
"""Clauses in place of a noun, and components as persons."""
PHRASES = re.compile(rf"\b(?:{'|'.join(map(re.escape, (*STIFF, *CLAUSES)))})\b", re.IGNORECASE)

LEFT = {
    "tests/agent": 0,
    "tests/agents": 0,
    "tests/agents_sdk": 0,
    "tests/edits": 0,
    "tests/features": 3,
    "tests/files": 0,
    "tests/history": 0,
    "tests/hostile": 0,
    "tests/nvim": 1,
    "tests/pictures": 0,
    "tests/project": 0,
    "tests/protocol": 0,
    "tests/real": 0,
    "tests/render": 0,
    "tests/session": 0,
    "tests/support": 1,
    "tests/tools": 0,
    "tests/torture": 0,
}
"""Number of phrases in each folder. Lower a number when you have rewritten some."""


def prose(path: Path) -> Iterator[str]:
    """Yield the docstrings and comments of a file, or all of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield text
        return
    if path.suffix == ".lua":
        comments = re.findall(r"^\s*--+(.*)$|\s--\s(.*)$", text, re.MULTILINE)
        yield "\n".join(first or second for first, second in comments)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    yield "\n".join(it.string.lstrip("# ") for it in tokens if it.type == tokenize.COMMENT)


def phrases_by_folder() -> Counter[str]:
    found = Counter[str]()
    sources = "acp_nvim/**/*.py", "tests/**/*.py", "lua/**/*.lua"
    for pattern in (*sources, "docs/architecture.md", "docs/internals/*.md"):
        for path in ROOT.glob(pattern):
            parts = path.relative_to(ROOT).parts[:-1]
            folder = "/".join(parts[: 3 if parts[0] == "lua" else 2])
            found[folder] += sum(
                len(PHRASES.findall(re.sub(r"\s+", " ", it))) for it in prose(path)
            )
    return found


def test_stiff_phrases_become_fewer() -> None:
    more = {name: n for name, n in phrases_by_folder().items() if n > LEFT.get(name, 0)}
    assert not more, "rewrite these docstrings and comments"
