"""What an agent will not do with a session: the rest is done all the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.editor import Editor
from tests.picks import install, pick

CLOSES: dict[str, Any] = {"sessionCapabilities": {"list": {}, "close": {}, "delete": {}}}
CLOSED = "require('acp').state().sessions[1].status == 'closed'"


@pytest.fixture
def picker(editor: Editor) -> Editor:
    install(editor)
    return editor


def test_a_session_that_the_agent_will_not_close_is_deleted(picker: Editor) -> None:
    path = str(picker.home / "stored.json")
    traffic = picker.agent("stores_nothing", path, capabilities=CLOSES)
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "delete")
    assert traffic.wait("session/delete")["params"] == {"sessionId": "s1"}
    picker.wait(CLOSED)
    picker.wait("vim.fn.execute('messages'):find('deleted: say one', 1, true)")


def test_a_session_that_the_agent_will_not_close_is_closed_here(picker: Editor) -> None:
    picker.errors_expected = True
    path = str(picker.home / "stored.json")
    picker.agent("stores_nothing", path, capabilities=CLOSES)
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "close")
    picker.wait(CLOSED)
    picker.wait("vim.fn.execute('messages'):find('the disk is full', 1, true)")
