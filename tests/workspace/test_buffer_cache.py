"""What is known of a buffer when its text and what the user did to it cross on their way."""

from __future__ import annotations

from typing import Any, cast

import pytest

from acp_nvim.edits.text import Text
from acp_nvim.workspace.buffer_cache import Mirrors
from acp_nvim.workspace.ports import BufferText, LiveBuffers

PATH = "/a"
OLD = Text(("one", "two"))
NEW = Text(("one", "mine"))


class Heard:
    """What a listener was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def typed(self, path: str, after: Text, undone: bool = False) -> None:
        """The text after the user's edit."""
        self.told.append(("undone" if undone else "typed", after))

    def reread(self, path: str, before: Text, after: Text, undone: bool = False) -> None:
        """The text that Neovim has read."""
        self.told.append(("reread", after))

    def left(self, path: str, before: Text | None, unsaved: bool) -> None:
        """Its text has been given up."""
        self.told.append(("left", unsaved))

    def lost(self, path: str) -> None:
        """It has to be read."""
        self.told.append(("lost", path))


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def mirrors(heard: Heard) -> Mirrors:
    """Of buffers that nobody asks for here."""
    return Mirrors(cast(LiveBuffers, None), lambda: heard)


def buffer(text: Text, tick: int) -> BufferText:
    return BufferText(3, tick, text, text)


def edited(base: int, tick: int) -> dict[str, Any]:
    """The user has changed the second line."""
    region = {"first": 1, "last": 2, "lines": ["mine"], "eol": True, "modified": True}
    return {"path": PATH, "bufnr": 3, "base": base, "tick": tick} | region


def test_an_edit_of_a_known_buffer(mirrors: Mirrors, heard: Heard) -> None:
    mirrors.found(PATH, buffer(OLD, 2))
    mirrors.heard(edited(2, 3))
    assert heard.told == [("typed", NEW)]
    assert not mirrors.stale(PATH)


def test_an_edit_that_is_heard_before_the_text(mirrors: Mirrors, heard: Heard) -> None:
    mirrors.heard(edited(2, 3))
    mirrors.found(PATH, buffer(OLD, 2))
    assert mirrors.stale(PATH)
    mirrors.found(PATH, buffer(NEW, 3))
    assert not mirrors.stale(PATH)
    assert heard.told == [("lost", PATH), ("lost", PATH), ("typed", NEW)]


def test_an_edit_that_the_text_has_already(mirrors: Mirrors) -> None:
    mirrors.heard(edited(2, 3))
    mirrors.found(PATH, buffer(NEW, 3))
    assert not mirrors.stale(PATH)


def test_a_save_that_ends_the_text(mirrors: Mirrors) -> None:
    mirrors.found(PATH, buffer(Text(("one",), eol=False), 2))
    assert mirrors.ended(PATH, True)
    assert not mirrors.ended(PATH, True)
    known = mirrors.get(PATH)
    assert known is not None
    assert known.raw is known.text == Text(("one",))
