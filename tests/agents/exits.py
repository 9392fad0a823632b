"""Agents that exit by a code or a signal, with or without output, or that refuse to exit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

from tests.agents.agent import Agent, End, Frame
from tests.agents.loop import SCENARIOS, handshake, live, scenario, serve, update_of, whole_life


@scenario
def exit_(agent: Agent, code: str = "1") -> None:
    """Begin a tool call, write to stderr, and exit with CODE during the turn."""
    agent.say("before the end\n")
    agent.update(update_of("tool_call", toolCallId="cut", title="Cut off", status="in_progress"))
    for number in range(3):
        agent.stderr(f"last words {number}")
    agent.exit(int(code))


@scenario
def die(agent: Agent, name: str = "SIGKILL") -> None:
    """Exit by the signal during the turn."""
    agent.say("before the end\n")
    agent.stderr("killed")
    agent.die(name)


@scenario
def closes_output(agent: Agent) -> None:
    """Close stdout during the turn without exiting."""
    agent.say("before the end\n")
    os.close(1)
    agent.listen()


@scenario
def closes_input(agent: Agent, seconds: str = "1000") -> None:
    """Close stdin during the turn, send more updates, and exit after SECONDS."""
    os.close(0)
    agent.say("before the end\n")
    time.sleep(float(seconds))
    agent.exit(0)


@scenario
def ends_in_a_line(agent: Agent, bytes_lacking: str = "0") -> None:
    """Answer the prompt without a newline, optionally without its last bytes, then exit."""
    assert agent.turn is not None
    agent.say("before the end\n")
    answer = {"jsonrpc": "2.0", "id": agent.turn["id"], "result": {"stopReason": "end_turn"}}
    line = json.dumps(answer).encode()
    agent.raw(line[: len(line) - int(bytes_lacking)], newline=False)
    agent.exit(0)


@whole_life
def exit_at_once(agent: Agent, code: str = "7") -> None:
    """Exit before the handshake, with a message on stderr."""
    agent.stderr("missing configuration")
    agent.exit(int(code))


@whole_life
def says_why_on_stdout(agent: Agent, code: str = "9") -> None:
    """Exit before the handshake, with the reason on stdout in place of messages."""
    agent.raw(b"usage: agent [--acp]")
    agent.raw(b"unknown flag: \x1b[1m--stdio\x1b[0m")
    agent.exit(int(code))


@whole_life
def exit_in_handshake(agent: Agent, code: str = "8") -> None:
    """Read `initialize` and exit without an answer."""
    agent.expect("initialize")
    agent.exit(int(code))


@whole_life
def ends_at_both_versions(agent: Agent) -> None:
    """Exit after a numeric version, and after a string version for another reason."""
    frame = agent.expect("initialize")
    if isinstance(frame["params"]["protocolVersion"], int):
        agent.stderr("acp: cannot unmarshal number into protocolVersion")
        agent.exit(3)
    agent.stderr("no licence found")
    agent.exit(4)


@whole_life
def mute(agent: Agent) -> None:
    """Read everything, answer nothing."""
    agent.listen()


@whole_life
def wrong_version(agent: Agent, version: str = "99") -> None:
    """Answer `initialize` with a protocol version that the client does not speak."""
    agent.reply(agent.expect("initialize"), {"protocolVersion": int(version)})
    agent.listen()


@whole_life
def refuses_initialize(agent: Agent, code: str = "-32603") -> None:
    """Answer each `initialize` with an error of CODE."""
    agent.refuse(agent.expect("initialize"), int(code), "not today")
    agent.refuse(agent.expect("initialize"), int(code), "nor in words")
    agent.listen()


@whole_life
def refuses_session(agent: Agent, code: str = "-32603") -> None:
    """Refuse `session/new` with CODE."""
    handshake(agent)
    while True:
        agent.refuse(agent.expect("session/new"), int(code), "no session for you")


@whole_life
def exit_once(agent: Agent, mark: str, then: str = "hello", code: str = "5") -> None:
    """Exit during a turn if the file MARK does not exist yet. Otherwise run THEN."""
    handshake(agent)
    if os.path.exists(mark):
        serve(agent, SCENARIOS[then].run, [])
    with open(mark, "x"):
        pass
    serve(agent, SCENARIOS["exit"].run, [code])


@scenario
def stderr(agent: Agent, lines: str = "1000", size: str = "80") -> None:
    """Write LINES lines of SIZE characters to stderr, faster than they are read."""
    for number in range(int(lines)):
        agent.stderr(f"noise {number} ".ljust(int(size), "."))


@scenario
def ignores_cancel(agent: Agent, seconds: str = "60") -> None:
    """Send a line, then ignore all input for SECONDS."""
    agent.say("not listening\n")
    time.sleep(float(seconds))


@scenario
def late_cancel(agent: Agent) -> None:
    """On cancel, send a few more updates, then end the turn as cancelled."""
    agent.update(update_of("tool_call", toolCallId="l", title="Long", status="in_progress"))
    agent.expect("session/cancel")
    agent.say("still going\n")
    agent.update(update_of("tool_call_update", toolCallId="l", status="completed"))
    agent.end("cancelled")


@scenario
def wrong_cancel(agent: Agent) -> None:
    """On cancel, end the turn with an error, as some agents do."""
    agent.say("working\n")
    agent.expect("session/cancel")
    assert agent.turn is not None
    agent.refuse(agent.turn, -32800, "Request cancelled")
    agent.turn = None


def _deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


@whole_life
def will_not_die(agent: Agent) -> None:
    """Run as an ordinary agent that ignores TERM, HUP, INT and the end of its input."""
    _deaf()
    handshake(agent)
    try:
        serve(agent, SCENARIOS["hello"].run, [])
    except End:
        agent.note("will not die")
        while True:
            signal.pause()


@whole_life
def grandchildren(agent: Agent, kind: str = "plain") -> None:
    """Run as an ordinary agent with a child process: plain, or deaf to TERM and HUP."""
    code = "import signal; signal.pause()"
    if kind == "deaf":
        code = f"import signal; signal.signal(15, 1); signal.signal(1, 1); {code}"
    null = subprocess.DEVNULL
    child = subprocess.Popen([sys.executable, "-c", code], stdin=null, stdout=null, stderr=null)
    agent.note(f"child {child.pid}")
    handshake(agent)
    serve(agent, SCENARIOS["script"].run, [])


@whole_life
def withholds(agent: Agent, method: str, mark: str, then: str, *args: str) -> None:
    """Run the scenario THEN, but answer METHOD only once the file MARK exists."""
    reply = agent.reply

    def late(request: Frame, result: Any) -> None:
        while request["method"] == method and not os.path.exists(mark):
            agent.check_cancel(0.02)
        reply(request, result)

    agent.reply = late  # type: ignore[method-assign]
    live(agent, then, list(args))


@whole_life
def starts_loud(agent: Agent, *_args: str) -> None:
    """Write lines to stderr while starting, then run scripts without such output."""
    for number in range(14):
        agent.stderr(f"starting {number}")
    handshake(agent)
    serve(agent, SCENARIOS["script"].run, [])
