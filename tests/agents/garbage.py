"""Malformed and unexpected input that some agents send."""

from __future__ import annotations

import json

from tests.agents.agent import Agent
from tests.agents.loop import (
    SCENARIOS,
    handshake,
    new_session,
    scenario,
    serve,
    update_of,
    whole_life,
)


@scenario
def raw(agent: Agent, *words: str) -> None:
    """Send a line without a change."""
    agent.raw(" ".join(words).encode())


@scenario
def not_json(agent: Agent) -> None:
    """Send lines that are not JSON: log output, half an object, an empty line, blanks."""
    for line in (
        b"Debugger listening on ws://x",
        b'{"jsonrpc": "2.0", "method":',
        b"",
        b"  \t ",
        b"{}x",
    ):
        agent.raw(line)


@scenario
def not_objects(agent: Agent) -> None:
    """Send JSON that is not an object, and objects that are not messages."""
    for line in (b"42", b"null", b'"x"', b"true", b"{}", b'{"jsonrpc":"2.0"}', b'{"id":1}'):
        agent.raw(line)


@scenario
def not_utf8(agent: Agent) -> None:
    """Send an update whose text has bytes that are not UTF-8, and a line of such bytes."""
    line = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":'
    line += (
        b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\xff\xfeb"}}}}'
    )
    agent.raw(line.replace(b"%s", agent.session.encode()))
    agent.raw(b"\x80\x81\xfe\xff")


@scenario
def surrogates(agent: Agent) -> None:
    """Send text with escaped lone surrogates, NUL and control characters, which JSON allows."""
    text = r'"lone \ud800 nul \u0000 bell \u0007 escape \u001b[31m rtl \u202e end"'
    update = f'{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{text}}}}}'
    params = f'{{"sessionId":"{agent.session}","update":{update}}}'
    agent.raw(f'{{"jsonrpc":"2.0","method":"session/update","params":{params}}}'.encode())


@scenario
def oversize(agent: Agent, size: str = "70000000") -> None:
    """Send one line of SIZE bytes."""
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "#"}}
    params = {"sessionId": agent.session, "update": chunk}
    frame = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})
    head, tail = frame.split("#")
    fill = int(size) - len(head) - len(tail)
    agent.note(f"oversize {size}")
    agent.raw(head.encode() + b"x" * fill + tail.encode())


@scenario
def unknown_updates(agent: Agent) -> None:
    """Send update kinds, enum values and content types that are not in the specification."""
    agent.update(update_of("brand_new_update", anything={"deep": [1, 2]}))
    agent.update({"no": "sessionUpdate at all"})
    agent.update(update_of(42))  # type: ignore[arg-type]
    agent.update(update_of("agent_message_chunk", content={"type": "hologram", "data": "x"}))
    agent.update(
        update_of("tool_call", toolCallId="odd", title="Odd", kind="levitate", status="dreaming")
    )
    content = [
        {"type": "smell"},
        42,
        {"type": "content", "content": {"type": "text", "text": "ok"}},
    ]
    agent.update(update_of("tool_call_update", toolCallId="odd", content=content))
    entries = [{"content": "good", "priority": "high", "status": "pending"}, {"content": 7}, "bad"]
    agent.update(update_of("plan", entries=entries))
    agent.notify("session/update", {"sessionId": agent.session})
    agent.notify("session/update", [1, 2])


@scenario
def missing_fields(agent: Agent) -> None:
    """Send updates without required members, or with nulls and wrong types in their place."""
    agent.update(update_of("agent_message_chunk"))
    agent.update(update_of("agent_message_chunk", content=None))
    agent.update(update_of("agent_message_chunk", content="a bare string"))
    agent.update(update_of("tool_call", toolCallId="bare"))
    agent.update(update_of("tool_call", title="no id"))
    agent.update(update_of("plan"))
    agent.update(update_of("usage_update", used="many", size=None))


@scenario
def unknown_tool(agent: Agent) -> None:
    """Update a tool call that was never announced, and announce one twice."""
    agent.update(
        update_of("tool_call_update", toolCallId="ghost", title="Ghost", status="completed")
    )
    for heading in ("Once", "Twice"):
        agent.update(update_of("tool_call", toolCallId="twin", title=heading, kind="read"))


@scenario
def strange_responses(agent: Agent) -> None:
    """Send unexpected responses: an unused id, ids of odd types, the prompt's answer twice."""
    for id in (9999, "9999", None, -1, 1.5, {"a": 1}):
        agent.send({"jsonrpc": "2.0", "id": id, "result": {}})
    agent.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse error"}})
    turn = agent.turn
    agent.end()
    if turn is not None:
        agent.reply(turn, {"stopReason": "refusal"})


@scenario
def late_updates(agent: Agent) -> None:
    """Answer the prompt first, then send more updates of its turn."""
    agent.say("early ")
    agent.end()
    agent.say("late\n")
    agent.update(update_of("tool_call", toolCallId="late", title="Late", status="completed"))


@whole_life
def early_updates(agent: Agent) -> None:
    """Send updates for a session whose `session/new` has not been answered."""
    handshake(agent)
    request = agent.expect("session/new")
    agent.session = "s1"
    agent.say("early bird\n")
    commands = [{"name": "early", "description": "Came first"}]
    agent.update(update_of("available_commands_update", availableCommands=commands))
    new_session(agent, request)
    serve(agent, SCENARIOS["hello"].run, [])


@whole_life
def early_requests(agent: Agent, path: str) -> None:
    """Read a file before `session/new` is answered, and in the same write as its answer."""
    handshake(agent)
    request = agent.expect("session/new")
    agent.session = "s1"
    agent.ask("fs/read_text_file", {"path": path})
    read = {"jsonrpc": "2.0", "id": "read", "method": "fs/read_text_file"}
    agent.send_together(
        {"jsonrpc": "2.0", "id": request["id"], "result": {"sessionId": "s2"}},
        {**read, "params": {"sessionId": "s2", "path": path}},
    )
    agent.answer("read")
    serve(agent, SCENARIOS["hello"].run, [])


@scenario
def other_session(agent: Agent) -> None:
    """Send an update for an unknown session."""
    content = {"type": "text", "text": "lost"}
    agent.update(update_of("agent_message_chunk", content=content), session="nobody")


@scenario
def unknown_request(agent: Agent) -> None:
    """Send requests of unknown methods: each gets -32601. Ids of every kind are echoed."""
    for id, method in ((0, "no/such"), ("text", "_vendor/thing"), (2**53, "fs/format_disk")):
        response = agent.answer(agent.request(method, {}, id=f"{id}" if id == "text" else id))
        assert response["error"]["code"] == -32601, response


@scenario
def bad_requests(agent: Agent) -> None:
    """Send requests with wrong parameters: each gets an error, none hangs."""
    for method, params in (
        ("fs/read_text_file", {"path": 42}),
        ("fs/read_text_file", {}),
        ("session/request_permission", {"options": "none"}),
        ("terminal/output", {"terminalId": None}),
        ("fs/write_text_file", {"path": "/tmp/x"}),
    ):
        response = agent.ask(method, params)
        assert "error" in response, (method, response)


@scenario
def unknown_notification(agent: Agent) -> None:
    """Send notifications of unknown methods, with and without params."""
    agent.notify("no/such", {"a": 1})
    agent.notify("$/progress", {"token": 1})
    agent.send({"jsonrpc": "2.0", "method": "_vendor/ping"})
    agent.cancel_request(424242)


@scenario
def batch(agent: Agent) -> None:
    """Send a JSON-RPC batch, which ACP does not have. It gets one -32600 with id null."""
    update = update_of("agent_message_chunk", content={"type": "text", "text": "in a batch"})
    params = {"sessionId": agent.session, "update": update}
    agent.send(
        [
            {"jsonrpc": "2.0", "id": "b1", "method": "no/such", "params": {}},
            {"jsonrpc": "2.0", "method": "session/update", "params": params},
        ]
    )
    answer = agent.answer(None)
    assert answer["error"]["code"] == -32600, answer


@scenario
def split_writes(agent: Agent) -> None:
    """Send one frame byte by byte, and two in one write."""
    content = {"type": "text", "text": "schön — split 🙂\n"}
    params = {
        "sessionId": agent.session,
        "update": update_of("agent_message_chunk", content=content),
    }
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    line = json.dumps(frame, ensure_ascii=False).encode()
    for index in range(len(line)):
        agent.raw_part(line[index : index + 1])
    agent.raw_part(b"\r\n" + line + b"\n" + line + b"\n")
