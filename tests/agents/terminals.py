"""Terminals of the client. Each scenario takes the name of its terminal: `t1`, `t2`, …"""

from __future__ import annotations

from tests.agents import quick_json as json
from tests.agents.agent import Agent, Cancelled, Frame
from tests.agents.files import report_outcome
from tests.agents.loop import SCENARIOS, scenario, update_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_terminals: dict[str, str] = {}  # the scenario's name -> the client's id


def _id(name: str) -> Frame:
    return {"terminalId": _terminals.get(name, name)}


def _say(agent: Agent, name: str, what: str, result: Any) -> None:
    if result is not None:
        agent.note(f"{name} {what} {json.dumps(result)}")
        agent.say(f"{name} {what} {json.dumps(result, ensure_ascii=False)}\n")


@scenario
def term_create(agent: Agent, name: str, text: str) -> None:
    """Create a terminal with parameters in JSON."""
    created = report_outcome(
        agent, f"{name} create", agent.ask("terminal/create", json.loads(text))
    )
    if created is not None:
        _terminals[name] = created["terminalId"]


@scenario
def term_embed(agent: Agent, name: str, call: str = "") -> None:
    """Begin a tool call that embeds the terminal."""
    content = [{"type": "terminal", **_id(name)}]
    agent.update(
        update_of(
            "tool_call",
            toolCallId=call or f"call-{name}",
            title=f"Command {name}",
            kind="execute",
            status="in_progress",
            content=content,
        )
    )


@scenario
def term_done(agent: Agent, name: str, status: str = "completed") -> None:
    """End the tool call."""
    agent.update(update_of("tool_call_update", toolCallId=f"call-{name}", status=status))


@scenario
def term_output(agent: Agent, name: str) -> None:
    """Request the output and print it."""
    _say(
        agent, name, "output", report_outcome(agent, name, agent.ask("terminal/output", _id(name)))
    )


@scenario
def term_wait(agent: Agent, name: str) -> None:
    """Wait for the exit and print it."""
    _say(
        agent,
        name,
        "exit",
        report_outcome(agent, name, agent.ask("terminal/wait_for_exit", _id(name))),
    )


@scenario
def term_wait_later(agent: Agent, name: str) -> None:
    """Request the exit without waiting for the answer."""
    agent.request("terminal/wait_for_exit", _id(name))


@scenario
def after_cancel(agent: Agent, name: str, *args: str) -> None:
    """Wait for a cancel, run that scenario, then end the turn as cancelled."""
    agent.expect("session/cancel")
    SCENARIOS[name].run(agent, *args)
    raise Cancelled


@scenario
def term_kill(agent: Agent, name: str) -> None:
    """Kill the command."""
    _say(agent, name, "kill", report_outcome(agent, name, agent.ask("terminal/kill", _id(name))))


@scenario
def term_release(agent: Agent, name: str) -> None:
    _say(
        agent,
        name,
        "release",
        report_outcome(agent, name, agent.ask("terminal/release", _id(name))),
    )


@scenario
def term_release_while_waiting(agent: Agent, name: str) -> None:
    """Send two waits, an output and a release at once. Print the answers in that order."""
    waits = [agent.request("terminal/wait_for_exit", _id(name)) for _ in range(2)]
    output = agent.request("terminal/output", _id(name))
    released = agent.request("terminal/release", _id(name))
    for id in (*waits, output, released):
        _say(agent, name, "answer", report_outcome(agent, name, agent.answer(id)))


@scenario
def term_told(agent: Agent, id: str, text: str) -> None:
    """Update tool call ID with `_meta` in JSON, without a terminal of the client."""
    agent.update(update_of("tool_call_update", toolCallId=id, _meta=json.loads(text)))


@scenario
def term_told_call(agent: Agent, id: str, command: str) -> None:
    """Begin a tool call that embeds a terminal which the agent runs itself."""
    agent.update(
        update_of(
            "tool_call",
            toolCallId=id,
            title=command,
            kind="execute",
            status="in_progress",
            content=[{"type": "terminal", "terminalId": id}],
            rawInput={"command": command},
            _meta={"terminal_info": {"terminal_id": id, "cwd": "/"}},
        )
    )
