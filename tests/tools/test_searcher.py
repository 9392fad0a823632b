"""Searches in other processes: by the plugin's program, and by ripgrep."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_nvim.tools.asking.search import Query, SearchResult
from acp_nvim.tools.asking.searcher import ProgramSearcher
from tests.support.git import git

RIPGREP = """#!{python}
import json, sys
argv = sys.argv[1:]
with open({log!r}, "w") as log:
    json.dump(argv, log)
if "{fails}" == "yes":
    sys.exit(2)
for path, number, text, start in {matches!r}:
    data = {{"path": {{"text": path}}, "lines": {{"text": text}}, "line_number": number,
             "submatches": [{{"start": start}}]}}
    print(json.dumps({{"type": "match", "data": data}}))
print(json.dumps({{"type": "summary", "data": {{}}}}))
"""


def query(root: Path, pattern: str, **more: object) -> Query:
    given = {"regex": False, "ignore_case": False, "texts": {}, "is_searched": lambda path: True}
    return Query(pattern, roots=[str(root)], **(given | more))  # type: ignore[arg-type]


async def own(query: Query, limit_s: float = 20) -> SearchResult:
    """Search without ripgrep."""
    return await ProgramSearcher(lambda: None, limit_s).search(query)


def lines(found: SearchResult, root: Path) -> list[str]:
    """Return `path:line:column text` of all matches."""
    return sorted(
        f"{Path(one.path).relative_to(root)}:{one.line}:{one.column} {one.text}"
        for one in found.matches
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "work"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_bytes("one.two\r\nönetwo one.two\n".encode())
    (root / "sub/b.txt").write_text("ONE.TWO\nother\n")
    (root / "bytes").write_bytes(b"one.two\0")
    (root / "link").symlink_to(root / "a.txt")
    return root


async def test_a_literal_text_is_found(project: Path) -> None:
    found = await own(query(project, "one.two"))
    assert found.is_complete
    assert lines(found, project) == ["a.txt:1:1 one.two", "a.txt:2:8 önetwo one.two"]


async def test_an_expression_and_any_case(project: Path) -> None:
    found = await own(query(project, "^one.two$", regex=True, ignore_case=True))
    assert lines(found, project) == ["a.txt:1:1 one.two", "sub/b.txt:1:1 ONE.TWO"]


async def test_unsaved_texts_replace_their_files(project: Path) -> None:
    texts = {str(project / "a.txt"): "new\n one.two", str(project / "new.txt"): "one.two"}
    found = await own(query(project, "one.two", texts=texts))
    assert lines(found, project) == ["a.txt:2:2  one.two", "new.txt:1:1 one.two"]


async def test_files_that_git_ignores_are_left_out(project: Path) -> None:
    git(project, "init", "-q")
    (project / ".gitignore").write_text("sub\n")
    (project / "sub/c.txt").write_text("one.two\n")
    git(project, "add", "a.txt")
    (project / "untracked.txt").write_text("one.two\n")
    (project / ".git/one").write_text("one.two\n")
    (project / ".git/info/exclude").write_text("excluded.txt\n")
    (project / "excluded.txt").write_text("one.two\n")
    found = await own(query(project, "one.two"))
    assert {line.split(":")[0] for line in lines(found, project)} == {"a.txt", "untracked.txt"}


async def test_no_program_of_the_repository_runs(project: Path, tmp_path: Path) -> None:
    git(project, "init", "-q")
    program, ran = tmp_path / "planted", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    git(project, "add", "a.txt")
    git(project, "config", "core.fsmonitor", str(program))
    git(project, "config", "filter.x.clean", str(program))
    (project / ".gitattributes").write_text("* filter=x\n")
    found = await own(query(project, "one.two"))
    assert {line.split(":")[0] for line in lines(found, project)} == {"a.txt"}
    assert not ran.exists()


async def test_a_slow_expression_is_stopped(project: Path) -> None:
    (project / "a.txt").write_text("a" * 60 + "!\n")
    found = await own(query(project, "(a+)+$", regex=True), limit_s=0.5)
    assert not found.is_complete


async def test_a_flood_of_matches_ends_the_search(project: Path) -> None:
    (project / "a.txt").write_text("x\n" * 6000)
    found = await own(query(project, "x"))
    assert len(found.matches) == 5000
    assert not found.is_complete


Rg = Callable[..., ProgramSearcher]


@pytest.fixture
def rg(tmp_path: Path) -> Rg:
    """Return a fake ripgrep that finds the given matches, or refuses the expression."""

    def make(matches: list[tuple[str, int, str, int]], fails: str = "no") -> ProgramSearcher:
        program, log = tmp_path / "rg", str(tmp_path / "log")
        words = {"python": sys.executable, "log": log, "matches": matches, "fails": fails}
        program.write_text(RIPGREP.format(**words))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return ProgramSearcher(lambda: str(program), 20)

    return make


async def test_ripgrep_searches_the_disk(project: Path, rg: Rg, tmp_path: Path) -> None:
    a, b = str(project / "a.txt"), str(project / "sub/b.txt")
    searcher = rg([(a, 1, "one.two", 0), (b, 3, "ö one.two\r\n", 3)])
    found = await searcher.search(query(project, "one.two", texts={a: "unsaved one.two"}))
    assert found.is_complete
    assert lines(found, project) == ["a.txt:1:9 unsaved one.two", "sub/b.txt:3:3 ö one.two"]
    argv = json.loads((tmp_path / "log").read_text())
    assert argv[-4:] == ["--regexp", "one.two", "--", str(project)]
    assert "--fixed-strings" in argv


async def test_an_expression_unknown_to_ripgrep_uses_the_plugins_program(
    project: Path, rg: Rg
) -> None:
    searcher = rg([], "yes")
    texts = {str(project / "new.txt"): "one.two"}
    found = await searcher.search(query(project, r"(?<=one\.)two", regex=True, texts=texts))
    assert found.is_complete
    assert lines(found, project) == [
        "a.txt:1:5 one.two",
        "a.txt:2:12 önetwo one.two",
        "new.txt:1:5 one.two",
        "new.txt:1:5 one.two",
    ]
