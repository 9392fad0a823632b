"""Places in files, from agents and from language servers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.edits.text import parse
from acp_nvim.protocol.uris import file_path
from acp_nvim.session.session import Session
from acp_nvim.tools.asking.places import Spot, listing, locations, path_of, position, result
from acp_nvim.tools.changing.workspace_edit import path_of as edited_path
from acp_nvim.tools.files import display_path
from acp_nvim.tools.ports import Answer, Position
from acp_nvim.tools.server.tool import ToolError

TEXT = parse("def one(stone, one):\n\n  self.one.two = 'naïve 🦆 word'\n")


@pytest.mark.parametrize(
    ("line", "symbol", "column"),
    [
        (1, "one", 4),
        (1, "ston", 8),
        (1, "stone, one", 15),
        (3, "self.one", 7),
        (3, "one.two", 11),
        (3, "word", 26),
        (3, "=", 15),
        (3, " one.two ", 11),
    ],
)
def test_a_symbol_is_located_at_its_last_word(line: int, symbol: str, column: int) -> None:
    assert position(TEXT, "a.py", line, symbol, None) == Position(line - 1, column)


def test_an_address_names_a_file_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.py")
    for path in (path_of(file.as_uri()), edited_path(file.as_uri()), file_path(file.as_uri())):
        assert path == str(file)


def test_a_column_counts_characters_from_one() -> None:
    assert position(TEXT, "a.py", 3, None, 25) == Position(2, 24)


@pytest.mark.parametrize(
    ("line", "symbol", "column", "words"),
    [
        (3, "stone", None, "'stone' is not on that line: a.py:3 is \"self.one"),
        (3, "stone", None, "('stone' is on line 1)"),
        (2, "one", None, "a.py:2 is empty"),
        (9, "one", None, "a.py has 3 lines; there is no line 9"),
        (1, None, None, "give `symbol` (text on line 1) or `column`: a.py:1 is 'def one("),
        (1, None, 99, "column 99 is past the end"),
    ],
)
def test_an_impossible_place_is_reported(
    line: int, symbol: str | None, column: int | None, words: str
) -> None:
    with pytest.raises(ToolError) as error:
        position(TEXT, "a.py", line, symbol, column)
    assert words in str(error.value)


def test_a_path_is_shown_relative_to_the_directory_also_if_that_is_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    file = str(real / "src/a.py")
    for cwd in (str(real), f"{real}/", str(link)):
        assert display_path(Session(1, "agent", cwd), file) == "src/a.py"
        assert display_path(Session(1, "agent", cwd), f"{real}s/a.py") == f"{real}s/a.py"
    assert display_path(Session(1, "agent", "/"), file) == file[1:]


def span(row: int, character: int) -> dict[str, Any]:
    place = {"line": row, "character": character}
    return {"start": place, "end": place}


def test_all_kinds_of_locations_are_read(tmp_path: Path) -> None:
    uri = f"file://{tmp_path}/a%20b.py"
    link = {"targetUri": uri, "targetRange": span(0, 0), "targetSelectionRange": span(2, 5)}
    answers = [
        Answer(1, "a", "utf-16", {"uri": uri, "range": span(1, 2)}),
        Answer(1, "a", "utf-16", [{"uri": uri, "range": span(1, 2)}, link]),
        Answer(2, "b", "utf-8", None),
        Answer(2, "b", "utf-8", [{"uri": "jdt://x/y.class", "range": span(3, 4)}]),
    ]
    path = str(tmp_path.resolve() / "a b.py")
    assert locations(answers) == [
        Spot(path, 1, 2, "utf-16"),
        Spot(path, 2, 5, "utf-16"),
        Spot("jdt://x/y.class", 3, 4, "utf-8"),
    ]


class Lines:
    """The lines of one file. Other files may not be shown."""

    def __init__(self, path: str, lines: list[str]) -> None:
        self.path, self.lines = path, lines

    async def line(self, real: str, row: int) -> str | None:
        return self.lines[row] if real == self.path else None


async def test_places_are_written_with_their_lines() -> None:
    path = "/nowhere/a.py"
    sources: Any = Lines(path, ["\t🦆 one\x1b[0m", "x" * 400])
    spots = [
        Spot(path, 0, 4, "utf-16"),
        Spot(path, 0, 6, "utf-8"),  # the same place, from another server
        Spot(path, 1, 0, "utf-8", "function f:"),
        Spot("/usr/lib/b.py", 7, 3, "utf-8"),
        Spot("/usr/lib/c.py", 8, 3, "utf-8"),
    ]
    found = await listing(Session(1, "agent", "/nowhere"), sources, spots, 3)
    assert found.lines == [
        "a.py:1:4 🦆 one\\x1b[0m",
        f"a.py:2:1 function f: {'x' * 300}…",
        "/usr/lib/b.py:8:4",
    ]
    assert found.places[0] == {"path": "a.py", "line": 1, "column": 4, "text": "🦆 one\\x1b[0m"}
    assert found.more == 1
    told = result(found, "none", "place", "one")
    assert told.text.endswith("\n… 1 more")
    assert told.summary == "4 places of one"
    assert (
        result(await listing(Session(1, "a", "/"), sources, [], 3), "none", "place").text == "none"
    )


@pytest.mark.parametrize(
    "answered",
    [
        "x",
        [1],
        {"uri": "file:///a"},
        {"uri": "file://[", "range": {"start": {"line": 0, "character": 0}}},
        {"uri": "file:///%00", "range": {"start": {"line": 0, "character": 0}}},
        {"uri": "file:///a", "range": {"start": {"line": "x", "character": 0}}},
    ],
)
def test_a_malformed_lsp_answer_is_reported(answered: Any) -> None:
    with pytest.raises(ToolError, match="the answer from pyls is not valid"):
        locations([Answer(1, "pyls", "utf-16", answered)])
