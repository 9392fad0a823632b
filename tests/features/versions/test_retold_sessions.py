"""Agents of version 2 that replay a session on a plain resume, against the protocol: the user sees
it once (v2/session-setup#resuming-sessions).
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.cutting_proxy import CuttingProxy
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick
from tests.support.remote_server import RemoteServer
from tests.support.traffic import Traffic
from tests.support.waiting import until

IDLE = "require('acp').state().sessions[{n}].status == 'idle'"


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def chunk(id: str, text: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "messageId": id, "content": words(text)}


def call(id: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": id, **fields}


STEP = {"content": "Look around", "priority": "high", "status": "pending"}
TOLD = [
    chunk("m1", "I look "),
    chunk("m1", "at the file."),
    call("t1", title="Read it", kind="read", status="in_progress"),
    call("t1", status="completed", content=[{"type": "content", "content": words("its text")}]),
    {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "planId": "p", "entries": [STEP]},
    },
    {"sessionUpdate": "terminal_update", "terminalId": "x", "command": "make"},
    {"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "YnVpbHQKCg=="},
    call("t2", title="Watch it", kind="other", status="in_progress"),
    chunk("m2", "That is all."),
]
NEWS = [
    call("n1", title="Look again", kind="read", status="in_progress"),
    chunk("m3", "By the way."),
]
ANEW = [
    call("t1", title="Read it once more", kind="read", status="completed"),
    chunk("m1", "I look once more."),
]
SCRIPT = {
    "look": TOLD,
    "anew": ANEW,
    "go": [chunk("m4", "On we go.")],
    "half": [chunk("m5", "I begin with ")],
}
SEEN = ["I look at the file.", "Read it", "its text", "Look around", "$ make", "built", "Watch it"]


def replaying_agent(editor: Editor, *args: str, **more: Any) -> Traffic:
    path = editor.home / "told.json"
    path.write_text(json.dumps(SCRIPT))
    path.with_suffix(".news").write_text("\n".join(map(json.dumps, NEWS)))
    return editor.agent("retells", str(path), *args, protocol=2, **more)


def lines(editor: Editor, n: int = 1) -> list[str]:
    return [line for line in editor.chat(n) if line]


def first_chat(editor: Editor) -> list[str]:
    """Run a turn and return its chat."""
    editor.turn("look")
    until(lambda: "That is all." in editor.chat(1))
    return lines(editor)


def assert_once(editor: Editor, *news: str, n: int = 1) -> None:
    """Check that the chat has each text once."""
    chat = lines(editor, n)
    for text in ("That is all.", *SEEN, *news):
        assert sum(text in line for line in chat) == 1, text


@pytest.mark.parametrize("how", ["same before", "same after", "other before", "other after"])
def test_a_session_is_shown_once_after_a_restart(editor: Editor, how: str) -> None:
    traffic = replaying_agent(editor, *how.split())
    before = first_chat(editor)
    editor.cmd("Acp restart")
    editor.wait_event("AcpSession", 2)
    editor.wait(IDLE.format(n=1))
    assert "replayFrom" not in traffic.received("session/resume")[0]["params"]
    editor.turn("go")
    until(lambda: "On we go." in editor.chat(1))
    assert lines(editor)[: len(before)] == before
    assert_once(editor, "The session was resumed", "On we go.")
    assert len(editor.session()["tool_calls"]) == 2
    assert len(editor.session()["plan"]) == 1


def test_work_that_continues_after_a_restart_is_shown(editor: Editor) -> None:
    replaying_agent(editor, "other", "works")
    before = first_chat(editor)
    editor.cmd("Acp restart")
    editor.wait_event("AcpSession", 2)
    until(lambda: "By the way." in editor.chat(1))
    assert lines(editor)[: len(before)] == before
    assert_once(editor, "Look again", "By the way.")


def test_ids_that_are_reused_after_a_restart_name_new_messages(editor: Editor) -> None:
    replaying_agent(editor, "same", "never")
    before = first_chat(editor)
    editor.cmd("Acp restart")
    editor.wait_event("AcpSession", 2)
    editor.wait(IDLE.format(n=1))
    editor.turn("anew")
    until(lambda: "I look once more." in editor.chat(1))
    chat = lines(editor)
    assert chat[: len(before)] == before
    news = [row for row, line in enumerate(chat) if "once more" in line]
    assert len(news) == 2
    assert news[0] > len(before)
    assert [it["title"] for it in editor.session()["tool_calls"]].count("Read it") == 1


def test_a_session_is_shown_once_after_the_connection_was_lost(editor: Editor) -> None:
    with ExitStack() as stack:
        proxies: list[CuttingProxy] = []

        def serve(command: list[str], env: dict[str, str]) -> str:
            server = stack.enter_context(RemoteServer(command, env))
            proxies.append(stack.enter_context(CuttingProxy(server.port)))
            return f"ws://127.0.0.1:{proxies[0].port}/acp"

        traffic = replaying_agent(editor, elsewhere=serve)
        before = first_chat(editor)
        proxies[0].cut()
        traffic.wait("session/resume")
        editor.turn("go", 30)
        until(lambda: "On we go." in editor.chat(1))
        assert lines(editor)[: len(before)] == before
        assert_once(editor, "On we go.")
        editor.quit()


@pytest.mark.parametrize("when", ["before", "never"])
def test_a_session_that_is_opened_by_resume_is_shown_once(editor: Editor, when: str) -> None:
    install_picker(editor)
    replaying_agent(editor, "same", when)
    first_chat(editor)
    pick(editor, "Acp sessions", "Retold", "close")
    editor.wait("require('acp').state().sessions[1].status == 'closed'")
    pick(editor, "Acp sessions", "Retold", "resume")
    editor.wait(IDLE.format(n=2))
    until(lambda: "That is all." in editor.chat(2))
    assert_once(editor, n=2)
    editor.turn("go")
    until(lambda: "On we go." in editor.chat(2))
    assert_once(editor, "On we go.", n=2)
