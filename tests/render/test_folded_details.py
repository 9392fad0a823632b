"""Notices in the chat: a line, the first details, and all of them on request."""

from __future__ import annotations

from acp_nvim.features.chat.reports import full_lines, markdown
from acp_nvim.render.entry_rows import MAX_DETAILS, draw_entry
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Line


def test_few_details_are_shown_entirely() -> None:
    rows = draw_entry(Line("error", "it failed", ["a", "b\nc"]))
    assert [text for text, _, _ in rows] == ["✗ it failed", "  a", "  b", "  c"]
    assert [target for _, _, target in rows] == [None] * 4


def test_many_details_are_folded_and_open_in_full() -> None:
    session = Session(1, "agent", "/w")
    session.notice("info", "something else")
    session.notice("error", "it failed", [f"line {n}" for n in range(40)])
    line = session.transcript.last
    assert line is not None
    rows = draw_entry(line)
    assert [text for text, _, _ in rows][-2:] == ["  line 4", f"  … +{40 - MAX_DETAILS} lines"]
    target = rows[-1][2]
    assert rows[0][2] == target
    assert isinstance(target, dict)
    shown = full_lines(session, target)
    assert shown[0] == "it failed"
    assert shown[-1] == "line 39"
    assert "line 39" in markdown(session)


def test_a_long_message_opens_in_full() -> None:
    session = Session(1, "agent", "/w")
    session.notice("error", "x" * 500)
    line = session.transcript.last
    assert line is not None
    [(text, _, target)] = draw_entry(line)
    assert len(text) < 500
    assert isinstance(target, dict)
    assert full_lines(session, target)[0] == "x" * 500
