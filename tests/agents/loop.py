"""Common parts of scripted agents: the handshake, and a turn for each prompt."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.agents.agent import Agent, Cancelled, Frame

Scenario = Callable[..., None]


class Entry(NamedTuple):
    """A scenario and its form."""

    run: Scenario
    whole: bool  # whether it runs from the first byte of the process


class Scenarios(dict[str, Entry]):
    """Scenarios by name.

    The module of a scenario is imported on first use: a run of the tests starts some two thousand
    agents, and each needs few of them.
    """

    def __missing__(self, name: str) -> Entry:
        """Find the scenario in the sources. Raise KeyError."""
        defined = re.compile(rf"^@(?:scenario|whole_life)\ndef {re.escape(name)}_?\(", re.MULTILINE)
        for path in MODULES:
            if defined.search(path.read_text(encoding="utf-8")):
                importlib.import_module(f"tests.agents.{path.stem}")
                break
        if name in self:
            return self[name]
        raise KeyError(name)

    def load(self) -> None:
        """Import all scenarios."""
        for path in MODULES:
            importlib.import_module(f"tests.agents.{path.stem}")


MODULES = sorted(Path(__file__).parent.glob("[!_]*.py"))
SCENARIOS = Scenarios()


def scenario(run: Scenario) -> Scenario:
    """Register a scenario that runs in each turn, which then ends with `end_turn`."""
    return _register(run, whole=False)


def whole_life(run: Scenario) -> Scenario:
    """Register a scenario that does everything, including the handshake."""
    return _register(run, whole=True)


def _register(run: Scenario, *, whole: bool) -> Scenario:
    name = run.__name__.rstrip("_")
    assert name not in SCENARIOS, name
    SCENARIOS[name] = Entry(run, whole)
    return run


def handshake(agent: Agent) -> None:
    """Answer `initialize`. `session/new` is answered when it comes."""
    request = agent.expect("initialize")
    agent.client = request["params"].get("clientCapabilities", {})
    agent.reply(
        request,
        {
            "protocolVersion": 1,
            "agentCapabilities": agent.capabilities,
            "agentInfo": {"name": "scripted", "title": "Scripted", "version": "1"},
            "authMethods": [],
            **agent.initialized,
        },
    )


def new_session(agent: Agent, request: Frame) -> None:
    """Answer `session/new`: ids are s1, s2, …"""
    agent.sessions += 1
    agent.session = f"s{agent.sessions}"
    agent.reply(request, {"sessionId": agent.session, **agent.new_session})


EARLIER_SESSION = "This session goes on from an earlier one"
"""The first words of a text about an earlier conversation, which the client adds to a prompt."""


def prompt_text(request: Frame) -> str:
    """Return the joined text blocks of a prompt, without the text about an earlier session."""
    texts = [b["text"] for b in request["params"]["prompt"] if b["type"] == "text"]
    return "".join(text for text in texts if EARLIER_SESSION not in text)


def serve(agent: Agent, scenario: Scenario, args: list[str]) -> None:
    """Open sessions, and run the scenario in a turn for each prompt."""
    while True:
        frame = agent.next()
        match frame["method"]:
            case "session/new":
                new_session(agent, frame)
            case "session/prompt":
                agent.session = frame["params"]["sessionId"]
                run_turn(agent, frame, scenario, args)
            case "session/set_mode":
                agent.reply(frame, {})
                mode = frame["params"]["modeId"]
                agent.update({"sessionUpdate": "current_mode_update", "currentModeId": mode})
            case "authenticate" | "session/close" | "session/delete" | "logout":
                agent.reply(frame, {})
            case method if "id" in frame:
                agent.refuse(frame, -32601, f"no method {method}")


def run_turn(agent: Agent, request: Frame, scenario: Scenario, args: list[str]) -> None:
    """Run the scenario for one prompt, then end the turn with `end_turn` or `cancelled`."""
    agent.turn = request
    try:
        scenario(agent, *args)
        agent.end()
    except Cancelled:
        agent.end("cancelled")


def script(agent: Agent, *_args: str) -> None:
    """Run each line of the prompt's text: the name of a scenario and its arguments, see `split`."""
    assert agent.turn is not None
    for line in prompt_text(agent.turn).split("\n"):
        words = split(line.strip())
        if words:
            SCENARIOS[words[0]].run(agent, *words[1:])


def split(line: str) -> list[str]:
    """Split a line into shell words, quoted or not.

    From a word that starts with `{`, `[` or `"`, the rest of the line is one word of JSON.
    """
    for index, character in enumerate(line):
        if character in '{["' and (index == 0 or line[index - 1] == " "):
            return [*shlex.split(line[:index]), line[index:]]
    return shlex.split(line)


def live(agent: Agent, name: str, args: list[str]) -> None:
    """Run a scenario as an agent process."""
    entry = SCENARIOS[name]
    if entry.whole:
        entry.run(agent, *args)
    else:
        handshake(agent)
        serve(agent, entry.run, args)


def update_of(kind: str, /, **fields: Any) -> Frame:
    """Return an update of that kind."""
    return {"sessionUpdate": kind, **fields}


scenario(script)
