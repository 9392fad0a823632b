"""Exact data of each event (contract 6); a listener has nothing else."""

from __future__ import annotations

from typing import Any

from tests.support.editor import Editor
from tests.support.lua import lua_chunk


def event_data(editor: Editor, name: str) -> list[dict[str, Any]]:
    """Return the data of every event with this name so far."""
    return [event["data"] for event in editor.events(name)]


def test_each_status_change_of_a_tool_call_has_an_event_with_its_id(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("tool completed")
    editor.wait_event("AcpToolCall", 3)
    calls = event_data(editor, "AcpToolCall")
    assert [call["status"] for call in calls] == ["pending", "in_progress", "completed"]
    known = editor.session()["tool_calls"][0]["id"]
    assert {(call["session"], call["id"]) for call in calls} == {(1, known)}


def test_calls_of_one_frame_have_an_event_each(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("tools 20")
    known = [call["id"] for call in editor.session()["tool_calls"]]
    ended = [call for call in event_data(editor, "AcpToolCall") if call["status"] == "completed"]
    assert [call["id"] for call in ended] == known
    assert len(known) == 20


def test_the_data_of_every_event_is_a_table(editor: Editor) -> None:
    editor.lua(
        "_G.kinds = {} vim.api.nvim_create_autocmd('User', { pattern = 'Acp*', "
        "callback = function(args) _G.kinds[args.match] = type(args.data) end })"
    )
    editor.agent("script")
    editor.turn("plan 1")
    editor.wait("_G.kinds.AcpState and _G.kinds.AcpTurnEnd and _G.kinds.AcpPlan")
    assert set(editor.lua("return vim.tbl_values(_G.kinds)")) == {"table"}


HEARD = lua_chunk(__file__, "fire_events")


def test_each_of_many_events_reaches_the_listeners_of_its_moment(editor: Editor) -> None:
    events = editor.lua(HEARD)
    # The first call had no listener; the listener of the permission began to listen to later ones.
    assert events == ["AcpPermission d1", "AcpToolCall b", "AcpToolCall a"]
    editor.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'AcpPer*', callback = function(it) "
        "_G.last = it.data end })"
    )
    fire = "require('acp.base.events').fire_all(3, ..., { { { id = 'yes' } } })"
    editor.lua(fire, ["asked", "d2", False, "Run b", 1])
    wanted = {"session": 3, "id": "d2", "title": "Run b", "options": [{"id": "yes"}]}
    assert editor.lua("return _G.last") == wanted
    editor.lua(fire, ["done", "d2", "cancelled", False])
    assert editor.lua("return _G.last") == {"session": 3, "id": "d2", "outcome": "cancelled"}
