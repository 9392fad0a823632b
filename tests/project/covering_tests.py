"""Search for the tests that cover a feature of the protocol, for `docs/protocol-coverage.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def source(folder: str) -> dict[str, str]:
    """Return the Python files below a folder: path from the repository -> text."""
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def quoted(text: str) -> str:
    """Return a pattern for a string literal with this text."""
    return rf"[\"']{re.escape(text)}[\"']"


@cache
def _tests() -> dict[str, str]:
    """Return the test modules: name -> text."""
    found = {Path(path).stem: text for path, text in source("tests").items()}
    left_out = ("test_coverage", "test_schema")
    return {n: text for n, text in found.items() if n.startswith("test_") and n not in left_out}


def _around(text: str, at: int) -> str:
    """Return the name of the test around a position of a module, or ""."""
    starts = list(re.finditer(r"^(?:(?:async )?def (\w+)|[A-Za-z_])", text[:at], re.MULTILINE))
    name = starts[-1][1] if starts else None
    return name if name is not None and name.startswith("test_") else ""


@cache
def _scenarios() -> dict[str, str]:
    """Return the functions of the scripted agents: name -> source."""
    found = {}
    for path, text in source("tests/agents").items():
        for part in re.split(r"^(?=def )", text, flags=re.MULTILINE)[1:]:
            name = re.match(r"def (\w+)", part)
            assert name, path
            found[name[1].rstrip("_")] = part
    return found


def scripted(*patterns: str) -> list[str]:
    """Return patterns for tests that run a scenario which matches one of the patterns."""
    names = [
        name
        for name, text in _scenarios().items()
        if len(name) > 3 and any(re.search(pattern, text) for pattern in patterns)
    ]
    return [rf"[\"'](?:[^\"'\n]*\\n)?{name}\b" for name in names]


def tested(old: str, *patterns: str) -> str:
    """Return a test that matches one of the patterns, if possible the one that the page names."""
    return _mentioned(old, *patterns) or _mentioned(old, *scripted(*patterns))


@cache
def _mentioned(old: str, *patterns: str) -> str:
    if not patterns:
        return ""
    wanted = re.compile("|".join(patterns))
    if old in _hits(wanted, old.strip("`").partition("::")[0]):
        return old
    hits = {hit: None for name in _tests() for hit in _hits(wanted, name)}
    return next((hit for hit in hits if "::" in hit), next(iter(hits), ""))


def _hits(wanted: re.Pattern[str], name: str) -> Iterator[str]:
    """Yield the matching tests of a module in order; the module itself for a match outside of
    tests.
    """
    text = _tests().get(name, "")
    for hit in wanted.finditer(text):
        test = _around(text, hit.start())
        yield f"`{name}::{test}`" if test else f"`{name}`"
