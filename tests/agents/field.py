"""Behaviour of real agents that differs from the protocol: one scenario for each kind."""

from __future__ import annotations

import signal
from typing import Any

from tests.agents.agent import Agent, Cancelled, Frame
from tests.agents.loop import handshake, new_session, prompt_text, scenario, update_of, whole_life
from tests.agents.permissions import METHOD, OPTIONS, chosen, question


def text(words: str) -> Frame:
    return {"type": "text", "text": words}


def call(agent: Agent, tag: str, id: str, /, **fields: Any) -> None:
    """Send a `tool_call` or `tool_call_update`."""
    agent.update(update_of(tag, toolCallId=id, **fields))


@scenario
def field_order(agent: Agent) -> None:
    """1.

    Name tool calls first in a permission, or change them before they are announced; announce them
    twice; repeat ids; complete calls with their announcement.
    """
    agent.ask(METHOD, question("asked-first"))
    call(agent, "tool_call_update", "asked-first", status="completed")
    call(agent, "tool_call_update", "changed-first", title="Changed first", status="in_progress")
    agent.ask(METHOD, question("changed-first"))
    call(agent, "tool_call", "changed-first", title="Announced late", status="completed")
    call(agent, "tool_call", "twice", title="Once", status="pending")
    call(agent, "tool_call", "twice", title="Twice", status="completed")
    call(agent, "tool_call", "twice", title="A new one", status="completed")
    agent.ask(METHOD, {"toolCall": {"toolCallId": "never"}, "options": OPTIONS})


@scenario
def field_partial(agent: Agent) -> None:
    """2.

    Send permissions with a partial tool call, whose known fields stay; options in any order, none
    that allows always; a question with its own `_meta`.
    """
    call(agent, "tool_call", "p", title="Known title", kind="edit", status="pending")
    mixed = [OPTIONS[3], OPTIONS[2], OPTIONS[0]]
    agent.ask(METHOD, {"toolCall": {"toolCallId": "p"}, "options": mixed})
    raw = {"command": "ls -l"}
    partial = {"toolCallId": "q", "title": None, "kind": None, "rawInput": raw}
    options = [{"optionId": "abort", "name": "Abort", "kind": "reject_once"}]
    agent.ask(METHOD, {"toolCall": partial, "options": options, "_meta": {"questions": [1]}})


@scenario
def field_diffs(agent: Agent) -> None:
    """3. Send diffs whose old text is a file, a part of one, empty, null or missing."""
    for number, old in enumerate(("a\nb\nc\n", "b", "", None, ...)):
        diff: Frame = {"type": "diff", "path": f"/tmp/f{number}", "newText": "a\nB\nc\n"}
        diff |= {} if old is ... else {"oldText": old}
        call(agent, "tool_call", f"d{number}", title=f"Diff {number}", content=[diff])
        call(agent, "tool_call_update", f"d{number}", status="completed")


@scenario
def field_terminals(agent: Agent) -> None:
    """4. Show terminals that the agent runs itself: an unknown id, its output in `_meta`."""
    content = [{"type": "terminal", "terminalId": "own-1"}]
    meta = {"terminal_info": {"terminal_id": "own-1", "cwd": "/tmp"}}
    call(agent, "tool_call", "t", title="make", kind="execute", content=content, _meta=meta)
    for piece in ("one\n", "two\n"):
        output = {"terminal_output_delta": {"terminal_id": "own-1", "data": piece}}
        call(agent, "tool_call_update", "t", _meta=output)
    end = {"terminal_exit": {"terminal_id": "own-1", "exit_code": 0, "signal": None}}
    call(agent, "tool_call_update", "t", status="completed", _meta=end)


@scenario
def field_shell_line(agent: Agent) -> None:
    """5.

    Create a terminal for a shell line, without args, directory and environment. Release it while a
    request waits for its end.
    """
    created = agent.ask("terminal/create", {"command": "echo one | tr o 0 && echo two"})
    terminal = {"terminalId": created["result"]["terminalId"]}
    waiting = agent.request("terminal/wait_for_exit", terminal)
    output: Frame = {}
    while "exitStatus" not in output:
        output = agent.ask("terminal/output", terminal)["result"]
    agent.ask("terminal/release", terminal)
    agent.note(f"waited {'result' in agent.answer(waiting)}")
    agent.say(f"output: {output['output']}")


@whole_life
def field_outside(agent: Agent, *_args: str) -> None:
    """6.

    Send updates before the answer to `session/new`, after the turn, and to an unknown session.
    """
    handshake(agent)
    request = agent.expect("session/new")
    commands = [{"name": "early", "description": "Known early"}]
    agent.update(update_of("available_commands_update", availableCommands=commands), "s1")
    new_session(agent, request)
    while True:
        agent.turn = agent.expect("session/prompt")
        agent.say("in the turn\n")
        agent.end()
        agent.update(update_of("usage_update", used=7, size=100))
        agent.update(update_of("session_info_update", title="Named late"))
        agent.say("after the turn\n")
        agent.update(update_of("usage_update", used=1, size=2), "who is this")


@scenario
def field_deaf(agent: Agent) -> None:
    """7. Answer a cancel with `end_turn`, and leave a tool call open."""
    call(agent, "tool_call", "left", title="Left open", status="in_progress")
    agent.note("working")
    try:
        agent.wait_for_cancel()
    except Cancelled:
        agent.say("went on\n")
        agent.end("end_turn")


@whole_life
def field_one_at_a_time(agent: Agent, *_args: str) -> None:
    """8. Refuse a second prompt during a turn."""
    handshake(agent)
    new_session(agent, agent.expect("session/new"))
    while True:
        agent.turn = agent.expect("session/prompt")
        agent.say(f"begun {prompt_text(agent.turn)}\n")
        agent.check_cancel(0.2)
        for frame in [it for it in agent.waiting if it.get("method") == "session/prompt"]:
            agent.waiting.remove(frame)
            agent.refuse(frame, -32600, "a turn is running")
        agent.say("ended\n")
        agent.end()


@scenario
def field_errors(agent: Agent, which: str) -> None:
    """9.

    Fail with errors of the model: `object`, `list` or `string` as data, an HTTP `code`; `silent`:
    only the number.
    """
    assert agent.turn is not None
    data: dict[str, Any] = {
        "object": {"reason": "quota"},
        "list": [{"reason": "quota"}, 3],
        "string": "quota",
        "code": None,
        "silent": None,
    }
    code = 400 if which == "code" else -32603
    message = '{"error": {"message": "overloaded\\nnow"}}' if which == "code" else "overloaded"
    agent.refuse(agent.turn, code, "" if which == "silent" else message, data[which])
    agent.turn = None


@whole_life
def field_ids(agent: Agent, *_args: str) -> None:
    """10.

    Use ids that are UUIDs, 0 or strings of digits; send errors with id null and a null result.
    """
    handshake(agent)
    new_session(agent, agent.expect("session/new"))
    while True:
        agent.turn = agent.expect("session/prompt")
        for id in ("6f1c0f7e-8a53-4d4b-9d9a-2f6f4f3a1c00", 0, "0", -1):
            agent.request(METHOD, question(f"q{id}"), id=id)
            agent.note(f"answered {id!r} {chosen(agent.answer(id))}")
        agent.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "what?"}})
        agent.end()


@scenario
def field_nulls(agent: Agent) -> None:
    """11. Send null for all optional members."""
    commands = [{"name": "c", "description": "d", "input": None}]
    agent.update(update_of("available_commands_update", availableCommands=commands))
    nulls: dict[str, Any] = dict.fromkeys(
        ("name", "content", "locations", "rawInput", "rawOutput", "_meta")
    )
    call(agent, "tool_call", "n", title="Nulls", kind="read", status="pending", **nulls)
    call(agent, "tool_call_update", "n", locations=[{"path": "/tmp/x", "line": None}])
    done: dict[str, Any] = dict.fromkeys(("title", "kind", "content", "locations"))
    call(agent, "tool_call_update", "n", status="completed", **done)
    agent.update(update_of("usage_update", used=5, size=10, cost=None))
    agent.update(update_of("session_info_update", title=None, updatedAt=None))
    agent.say("through\n", messageId=None)
    agent.end(usage=None, _meta=None)


@scenario
def field_unknown(agent: Agent) -> None:
    """12. Send unknown requests and notifications, with and without an underscore."""
    answer = agent.ask("craft/drainMidTurnQueue", {})
    agent.note(f"drained {answer.get('error', {}).get('code')}")
    for method in ("_auth/status_update", "qwen/notify/tool", "_session/retrying"):
        agent.notify(method, {"sessionId": agent.session, "anything": [None]})
    agent.cancel_request("never-asked")
    agent.update(update_of("moon_phase", phase="full"))
    agent.say("through\n")


@whole_life
def field_modes(agent: Agent, *_args: str) -> None:
    """12. Offer modes whose ids are addresses. Report a switch only in text."""
    handshake(agent)
    ids = ("https://example.org/modes#agent", "https://example.org/modes#plan")
    available = [{"id": id, "name": id.rpartition("#")[2]} for id in ids]
    agent.new_session = {"modes": {"currentModeId": ids[0], "availableModes": available}}
    new_session(agent, agent.expect("session/new"))
    while True:
        frame = agent.expect("session/prompt", "session/set_mode")
        if frame["method"] == "session/set_mode":
            agent.reply(frame, {})
            agent.say("[MODE_UPDATE] plan")
        else:
            agent.turn = frame
            agent.end()


@whole_life
def field_version(agent: Agent, version: str = "99") -> None:
    """13. Answer each version with VERSION; `echo`: with the same one."""
    request = agent.expect("initialize")
    asked = request["params"]["protocolVersion"]
    agent.note(f"asked {asked}")
    answer = asked if version == "echo" else int(version)
    agent.reply(request, {"protocolVersion": answer, "agentCapabilities": {}})
    new_session(agent, agent.expect("session/new"))
    while True:
        agent.turn = agent.expect("session/prompt")
        agent.say("same version\n")
        agent.end()


@whole_life
def field_process(agent: Agent, *_args: str) -> None:
    """14.

    Print exceptions on stdout, send lines of 90 KB in pieces, empty chunks and split words; ignore
    the end of the input.
    """
    agent.raw(b"Traceback (most recent call last):")
    agent.raw(b"  RuntimeError: printed where it should not be")
    handshake(agent)
    new_session(agent, agent.expect("session/new"))
    agent.turn = agent.expect("session/prompt")
    commands = [{"name": f"c{n}", "description": "x" * 900} for n in range(100)]
    line = (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
        b'{"sessionUpdate":"available_commands_update","availableCommands":['
        + b",".join(
            b'{"name":"%s","description":"%s"}' % (it["name"].encode(), it["description"].encode())
            for it in commands
        )
        + b"]}}}"
    )
    for start in range(0, len(line), 9000):
        agent.raw_part(line[start : start + 9000])
    agent.raw_part(b"\n")
    for piece in ("", "wo", "", "rd in", " two", "\n"):
        agent.say(piece)
    agent.end()
    agent.note("stays")
    signal.pause()
