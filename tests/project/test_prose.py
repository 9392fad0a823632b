"""Docstrings, comments and the pages on the internals contain no stiff phrases."""

from __future__ import annotations

import ast
import io
import re
import tokenize
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


def prose(path: Path) -> Iterator[str]:
    """Yield the docstrings and comments of a file, or all of a page."""
    text = path.read_text(encoding="utf-8")
    if not PHRASES.search(re.sub(r"[\s#-]+", " ", text)):  # parsing takes most of the time
        return
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


SOURCES = (
    *("acp_nvim/**/*.py", "rplugin/**/*.py", "tests/**/*.py", "bench/**/*.py", ".ci/*.py"),
    *("lua/**/*.lua", "plugin/*.lua", "tests/**/*.lua", "bench/**/*.lua", ".ci/*.lua"),
)
PAGES = ("docs/architecture.md", "docs/internals/*.md")


def test_prose_has_no_stiff_phrases() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {phrase}"
        for pattern in (*SOURCES, *PAGES)
        for path in ROOT.glob(pattern)
        for part in prose(path)
        for phrase in PHRASES.findall(re.sub(r"\s+", " ", part))
    ]
    assert not found, "rewrite these docstrings and comments"
