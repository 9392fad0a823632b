"""State of a buffer if its text and the user's change cross on their way."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.buffer_cache import BufferCache
from acp_nvim.files.buffers.buffer_state import News, Outdated, Reread, Typed, with_eol
from acp_nvim.files.buffers.tracked_file import TrackedFiles
from acp_nvim.files.bytes.disk import GRAIN_NS
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.ports import BufferEdit, BufferText
from tests.support.fake_workspace import fake_workspace
from tests.support.waiting import until

PATH = "/a"
OLD = Text(("one", "two"))
NEW = Text(("one", "mine"))


class Neovim:
    """A Neovim that returns a prepared text and records calls of the cache."""

    def __init__(self) -> None:
        self.answer = buffer(OLD, 2)
        self.told: list[News] = []
        self.files = TrackedFiles()
        self.cache = BufferCache(self, self.files, lambda _, news: self.told.append(news))  # type: ignore[arg-type]

    def is_stale(self) -> bool:
        """Return whether the buffer has to be read again."""
        return self.files.buffer(PATH).is_stale

    async def read(self, _place: Place, _known: BufferText | None) -> BufferText:
        return self.answer

    def found(self, answer: BufferText) -> None:
        """Read the buffer."""
        self.answer = answer
        anyio.run(self.cache.read, Place(PATH, PATH))


@pytest.fixture
def neovim() -> Neovim:
    return Neovim()


def buffer(text: Text, tick: int) -> BufferText:
    return BufferText(3, tick, text, text)


def edited(base: int, tick: int) -> BufferEdit:
    """Return the user's change to the second line."""
    return BufferEdit(PATH, 3, base, tick, 1, 2, ("mine",), True, True)


def test_an_edit_of_a_known_buffer(neovim: Neovim) -> None:
    neovim.found(buffer(OLD, 2))
    neovim.cache.on_edit(edited(2, 3))
    assert neovim.told == [Typed(NEW)]
    assert not neovim.is_stale()


def test_an_edit_that_arrives_before_the_text(neovim: Neovim) -> None:
    neovim.cache.on_edit(edited(2, 3))
    neovim.found(buffer(OLD, 2))
    assert neovim.is_stale()
    neovim.found(buffer(NEW, 3))
    assert not neovim.is_stale()
    assert neovim.told == [Outdated(), Outdated(), Typed(NEW)]


def test_an_edit_that_the_text_already_has(neovim: Neovim) -> None:
    neovim.cache.on_edit(edited(2, 3))
    neovim.found(buffer(NEW, 3))
    assert not neovim.is_stale()


@pytest.mark.parametrize("undone", [[True, True], [True, False], [False, True]])
def test_changes_before_a_read_are_an_undo_if_one_of_them_is(
    neovim: Neovim, undone: list[bool]
) -> None:
    neovim.found(buffer(OLD, 2))
    for is_undo in undone:
        neovim.cache.on_edit(replace(edited(5, 6), is_undo=is_undo))
    neovim.found(buffer(NEW, 7))
    assert neovim.told[-1] == Typed(NEW, is_undo=True)


@pytest.mark.parametrize("undone", [[True, True], [True, False], [False, True]])
def test_an_undone_reload_is_not_a_new_read(neovim: Neovim, undone: list[bool]) -> None:
    neovim.found(buffer(OLD, 2))
    for is_undo in undone:
        neovim.cache.on_edit(replace(edited(2, 3), is_reload=True, is_undo=is_undo))
    neovim.found(buffer(NEW, 7))
    news = Typed(NEW, is_undo=True) if all(undone) else Reread(OLD, NEW, is_undo=undone[-1])
    assert neovim.told[-1] == news


def test_a_save_that_ends_the_text(neovim: Neovim) -> None:
    neovim.found(buffer(Text(("one",), eol=False), 2))
    state = neovim.files.buffer(PATH)
    after = with_eol(state, True)
    assert with_eol(after, True) is after is not state
    assert after.text is not None
    assert after.text.raw is after.text.text == Text(("one",))


def settled(tmp_path: Path) -> Place:
    """Return a file whose last change is old enough."""
    path = tmp_path / "a"
    path.write_text("one\ntwo\n", encoding="utf-8")
    until(lambda: time.time_ns() - path.stat().st_ctime_ns > 2 * GRAIN_NS)
    return Place(str(path), str(path))


class NotifyingNeovim(Neovim):
    """A Neovim that sends a notification while the answer to a read is under way."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.meanwhile: Callable[[], None] = lambda: None

    async def read(self, _place: Place, _known: BufferText | None) -> BufferText:
        self.reads += 1
        self.meanwhile()
        return self.answer


@pytest.mark.parametrize("what", ["nothing", "edit", "doubt", "reload", "end", "other buffer"])
def test_only_a_fully_known_text_is_returned_without_a_read(tmp_path: Path, what: str) -> None:
    place = settled(tmp_path)
    neovim = NotifyingNeovim()
    anyio.run(neovim.cache.read, place)
    edit = BufferEdit(place.real, 3, 2, 3, 1, 2, ("mine",), True, True)
    told: dict[str, Callable[[], None]] = {
        "nothing": lambda: None,
        "edit": lambda: neovim.cache.on_edit(edit),
        "doubt": lambda: neovim.cache.on_unknown_change(place.real),
        "reload": lambda: neovim.cache.on_edit(replace(edit, is_reload=True)),
        "end": lambda: neovim.cache.on_edit(replace(edit, is_unload=True)),
        "other buffer": lambda: neovim.cache.on_edit(replace(edit, bufnr=4)),
    }
    known = what in ("nothing", "edit")
    told[what]()
    neovim.answer = buffer(NEW, 3) if what == "edit" else neovim.answer
    found = anyio.run(neovim.cache.read_cached, place)
    assert isinstance(found, BufferText)
    assert found.text == neovim.answer.text
    assert neovim.reads == (1 if known else 2)

    neovim.cache.on_unknown_change(place.real)  # the same during the read
    neovim.reads, neovim.meanwhile = 0, told[what]
    anyio.run(neovim.cache.read_cached, place)
    neovim.meanwhile = lambda: None
    anyio.run(neovim.cache.read_cached, place)
    assert neovim.reads == (1 if known else 2)


def test_a_file_that_has_just_changed_is_read_again(tmp_path: Path) -> None:
    """Another change within the same tick of its clock would not be visible."""
    place = settled(tmp_path)
    neovim = NotifyingNeovim()
    Path(place.real).write_text("three\nfour\n", encoding="utf-8")
    for _ in range(3):
        anyio.run(neovim.cache.read_cached, place)
    assert neovim.reads == 3
    Path(place.real).unlink()
    for _ in range(3):
        anyio.run(neovim.cache.read_cached, place)
    assert neovim.reads == 6


async def test_a_text_that_an_agent_wrote_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path, neovim = workspace.work / "a.txt", workspace.neovim
        path.write_text("one\n")
        neovim.open(str(path))
        await workspace.write(path, "one\ntwo\n")
        read, answers = neovim.live_read, list[list[Any]]()

        def recorded(*args: Any) -> list[Any]:
            answers.append(read(*args))
            return answers[-1]

        monkeypatch.setattr(neovim, "live_read", recorded)
        await workspace.write(path, "one\ntwo\nthree\n")
        assert path.read_text() == "one\ntwo\nthree\n"
        assert answers
        assert [lines for *_, lines in answers] == [None] * len(answers)
