"""Outline of a traffic log in a report."""

from __future__ import annotations

import json
from typing import Any

from acp_nvim.agent.wire.traffic_view import Line
from acp_nvim.features.report.outline import MAX_LINES, MAX_REASON, MAX_WORD, outline

CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "private"}}


def line(direction: str, message: Any) -> Line:
    data = message if isinstance(message, str) else json.dumps(message)
    return Line(0.0, direction, data.encode())


def heads(*lines: Line) -> list[str]:
    """Return the outline without its times."""
    return [one.partition(" ")[2] for one in outline(lines, str)]


def test_an_outline_has_kinds_sizes_and_errors_but_no_contents() -> None:
    update = {"method": "session/update", "params": {"sessionId": "s", "update": CHUNK}}
    found = heads(
        line("out", {"id": 1, "method": "initialize", "params": {}}),
        line("out", {"id": 2, "method": "session/prompt", "params": {"prompt": "private"}}),
        *[line("in", update)] * 3,
        line("in", {"id": 9, "method": "fs/read_text_file", "params": {"path": "/private"}}),
        line("out", {"id": 9, "error": {"code": -32602, "message": "is\noutside"}}),
        line("err", "private"),
        line("in", "private words"),
        line("in", {"id": 2, "result": {"stopReason": "end_turn"}}),
    )
    assert found == [
        "-> session/prompt #2 70 B",
        "<- session/update agent_message_chunk x 3",
        "<- fs/read_text_file #9 72 B",
        "-> (answer) #9 error -32602 is outside",
        "2> (output on stderr)",
        "<- (unreadable message) 13 B",
        "<- (answer) #2 47 B",
    ]


def test_an_outline_begins_with_the_last_prompt_and_keeps_the_newest_lines() -> None:
    prompt = {"id": 1, "method": "session/prompt"}
    calls = [line("in", {"id": n, "method": "terminal/create"}) for n in range(MAX_LINES + 4)]
    found = list(outline([line("out", prompt), line("in", "x"), line("out", prompt), *calls], str))
    assert found[0] == "(5 earlier lines are left out)"
    assert len(found) == MAX_LINES + 1
    assert f"#{MAX_LINES + 3}" in found[-1]


def test_a_secret_is_removed_before_its_text_is_cut() -> None:
    secret = "correct horse battery staple"
    message = "x" * (MAX_REASON - 10) + secret
    lines = [
        line("in", {"id": 1, "error": {"code": 1, "message": message}}),
        line("in", {"id": 2, "method": "_x/" + "y" * (MAX_WORD - 10) + secret}),
        line("in", {"id": "z" * (MAX_WORD - 10) + secret, "result": {}}),
    ]
    found = "\n".join(outline(lines, lambda text: text.replace(secret, "(gone)")))
    assert "correct" not in found
    assert found.count("(gone)") == 3
