"""What is known of a buffer when its text and what the user did to it cross on their way."""

from __future__ import annotations

import anyio
import pytest

from acp_nvim.edits.text import Text
from acp_nvim.workspace.buffer_cache import BufferCache
from acp_nvim.workspace.buffer_state import Lost, News, Typed
from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.ports import BufferEdit, BufferText
from acp_nvim.workspace.tracked_file import TrackedFiles

PATH = "/a"
OLD = Text(("one", "two"))
NEW = Text(("one", "mine"))


class Neovim:
    """Answers reads with what was prepared; what the cache tells of is kept."""

    def __init__(self) -> None:
        self.answer = buffer(OLD, 2)
        self.told: list[News] = []
        self.cache = BufferCache(self, TrackedFiles(), lambda _, news: self.told.append(news))  # type: ignore[arg-type]

    async def read(self, _place: Place) -> BufferText:
        return self.answer

    def found(self, answer: BufferText) -> None:
        """The buffer is read."""
        self.answer = answer
        anyio.run(self.cache.read, Place(PATH, PATH))


@pytest.fixture
def neovim() -> Neovim:
    return Neovim()


def buffer(text: Text, tick: int) -> BufferText:
    return BufferText(3, tick, text, text)


def edited(base: int, tick: int) -> BufferEdit:
    """The user has changed the second line."""
    return BufferEdit(PATH, 3, base, tick, 1, 2, ("mine",), True, True)


def test_an_edit_of_a_known_buffer(neovim: Neovim) -> None:
    neovim.found(buffer(OLD, 2))
    neovim.cache.heard(edited(2, 3))
    assert neovim.told == [Typed(NEW)]
    assert not neovim.cache.is_stale(PATH)


def test_an_edit_that_is_heard_before_the_text(neovim: Neovim) -> None:
    neovim.cache.heard(edited(2, 3))
    neovim.found(buffer(OLD, 2))
    assert neovim.cache.is_stale(PATH)
    neovim.found(buffer(NEW, 3))
    assert not neovim.cache.is_stale(PATH)
    assert neovim.told == [Lost(), Lost(), Typed(NEW)]


def test_an_edit_that_the_text_has_already(neovim: Neovim) -> None:
    neovim.cache.heard(edited(2, 3))
    neovim.found(buffer(NEW, 3))
    assert not neovim.cache.is_stale(PATH)


def test_a_save_that_ends_the_text(neovim: Neovim) -> None:
    neovim.found(buffer(Text(("one",), eol=False), 2))
    assert neovim.cache.ended(PATH, True)
    assert not neovim.cache.ended(PATH, True)
    known = neovim.cache.get(PATH)
    assert known is not None
    assert known.raw is known.text == Text(("one",))
