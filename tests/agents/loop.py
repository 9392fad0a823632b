"""Common parts of scripted agents: the handshake, and a turn for each prompt."""

from __future__ import annotations

import os

from tests.agents.agent import Agent, Cancelled, Frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Scenario = Callable[..., None]


class Entry:
    """A scenario, and whether it is the `whole` life of the process, from its first byte."""

    def __init__(self, run: Scenario, *, whole: bool) -> None:
        self.run, self.whole = run, whole


class Scenarios(dict[str, Entry]):
    """Scenarios by name.

    The module of a scenario is imported on first use: a run of the tests starts some two thousand
    agents, and each needs few of them.
    """

    def __missing__(self, name: str) -> Entry:
        """Find the scenario in the sources. Raise KeyError."""
        heads = [
            f"\n@{kind}\ndef {name}{end}(".encode()
            for kind in ("scenario", "whole_life")
            for end in ("", "_")
        ]
        for module in MODULES:
            source = _source(module)
            if any(head in source for head in heads):
                __import__(f"tests.agents.{module}")
                break
        if name in self:
            return self[name]
        raise KeyError(name)

    def load(self) -> None:
        """Import all scenarios."""
        for module in MODULES:
            __import__(f"tests.agents.{module}")


def _source(module: str) -> bytes:
    file = os.open(f"{FOLDER}/{module}.py", os.O_RDONLY)
    try:
        return os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)


FOLDER = os.path.dirname(__file__)
MODULES = sorted(
    name[:-3] for name in os.listdir(FOLDER) if name[0] != "_" and name.endswith(".py")
)
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
    SCENARIOS[name] = Entry(run, whole=whole)
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


EARLIER_SESSION = "This session continues an earlier one"
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
            return [*words(line[:index]), line[index:]]
    return words(line)


def words(line: str) -> list[str]:
    """Split a line into shell words. Import `shlex` only for a line with quotes or the like."""
    if line.isascii() and line.isprintable() and not set(line) & set("'\"\\"):
        return line.split()
    import shlex

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
