"""Titles of hunks: the instructions of the inline edits that made them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.features.edit.hunk_titles import HunkTitles
from tests.support.neovims import Neovims


class Writer(msgspec.Struct):
    """Session, with the members that titles use."""

    n: int


class File:
    """File with pending edits, and the titles of its hunks."""

    def __init__(self, *lines: str) -> None:
        self.text = Text(lines)
        self.ledger = Ledger()
        self.titles = HunkTitles({})

    def write(self, session: int, *lines: str) -> None:
        text = Text(lines)
        self.ledger.record_agent_write("/a", self.text, text, session)
        self.titles.on_write(Writer(session), "/a", self.text, text, text)  # type: ignore[arg-type]
        self.text = text

    def type(self, *lines: str) -> None:
        self.text = Text(lines)
        self.ledger.record_user_edit("/a", self.text)

    def entry(self) -> Pending:
        found = self.ledger.get("/a")
        assert found is not None
        return found

    def titled(self) -> list[tuple[tuple[str, ...], str]]:
        """Return lines and title of each hunk."""
        entry = self.entry()
        return [(hunk.lines, t) for hunk, t in zip(entry.hunks, self.titles.of(entry), strict=True)]


def test_each_hunk_has_the_instruction_of_its_edit() -> None:
    file = File("a", "b", "c", "d", "e", "f", "g")
    file.titles.begin(1, "first")
    file.titles.begin(2, "second")
    file.write(1, "a", "B", "B2", "c", "d", "e", "f", "g")
    file.write(2, "a", "B", "B2", "c", "d", "E", "f", "g")
    file.write(1, "a", "B", "B2", "c", "d", "E", "f")
    file.write(3, "A", "B", "B2", "C", "d", "E", "f")
    assert file.titled() == [
        (("A", "B", "B2", "C"), "first"),
        (("E",), "second"),
        ((), "first"),
    ]


def test_titles_follow_the_users_changes_and_come_back_with_a_redo() -> None:
    file = File("a", "b", "c", "d")
    file.titles.begin(1, "mend")
    file.write(1, "a", "B", "c", "d")
    file.titles.end(1)
    file.type("new", "a", "B", "c", "d")
    assert file.titled() == [(("B",), "mend")]
    file.type("new", "a", "b", "c", "d")
    file.type("new", "a", "B", "c", "d")
    assert file.titled() == [(("B",), "mend")]
    file.write(1, "new", "a", "B", "c", "D")
    assert file.titled() == [(("B",), "mend"), (("D",), "")]


def test_a_later_edit_of_the_same_lines_gives_the_title() -> None:
    file = File("a", "b", "c")
    file.titles.begin(1, "first")
    file.titles.begin(2, "second")
    file.write(1, "a", "B", "C")
    file.write(2, "a", "B", "D")
    assert file.titled() == [(("B", "D"), "first · second")]
    file.write(2, "a", "X", "Y")
    assert file.titled() == [(("X", "Y"), "second")]


def test_a_file_without_inline_edits_has_no_titles() -> None:
    file = File("a", "b")
    file.write(1, "a", "B")
    assert file.titles.of(file.entry()) == ()


async def test_titles_outlive_the_host(tmp_path: Path) -> None:
    started = Neovims(tmp_path)
    try:
        first = await started.neovim("first")
        path = first.work / "a.txt"
        path.write_text("a\nb\nc\n")
        titles = HunkTitles(first.core.files.titles)
        first.core.files.authors.on_written.append(titles.on_write)
        titles.begin(first.sessions[0].n, "capitals, \udce4")
        await first.write(path, "a\nB\nc\n")
        await first.exchange()
        started.kill(first)
        second = await started.neovim("second", agents=0)
        [entry] = second.core.files.ledger.files()
        titles = HunkTitles(second.core.files.titles)
        assert titles.of(entry) == ["capitals, ?"]
        await second.decide("accept")
        await second.exchange()
        started.kill(second)
        third = await started.neovim("third", agents=0)
        assert not third.core.files.titles
    finally:
        started.kill_all()
