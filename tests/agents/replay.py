"""Agent side of a recorded conversation (tests/data/transcripts).

Before the player waits for a step of the user it notes `want N`, where N is the record's index, and
at the end `done`. A file may have several runs of the agent: each start of the process plays the
next one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agents.agent import Agent, Frame
from tests.agents.loop import whole_life

Record = dict[str, Any]

AUTOMATIC = {"initialize", "session/new"}
BY_THE_USER = {
    *("session/prompt", "session/cancel", "session/set_mode", "session/set_config_option"),
    *("session/load", "session/resume"),
}
QUESTIONS = {"session/request_permission", "elicitation/create"}


def records(path: Path, cwd: str) -> list[Record]:
    """Return the records of a transcript with real paths for its placeholders."""
    text = path.read_text(encoding="utf-8")
    for name, value in (("$CWD", cwd), ("$HOME", "/home/probe"), ("$AGENTS", "/opt/agents")):
        text = text.replace(name, json.dumps(value)[1:-1])
    return [json.loads(line) for line in text.splitlines()]


def runs(path: Path, cwd: str) -> list[list[tuple[int, Record]]]:
    """Return the records with their indexes, split at each `initialize`."""
    found: list[list[tuple[int, Record]]] = []
    for index, record in enumerate(records(path, cwd)):
        message = record.get("msg")
        if isinstance(message, dict) and message.get("method") == "initialize":
            found.append([])
        if found and ("msg" in record or "raw" in record):
            found[-1].append((index, record))
    return found


def is_played(message: Frame) -> bool:
    """Return whether a client or its user makes this request. Others came from the recorder."""
    return message["method"] in AUTOMATIC | BY_THE_USER


class Player:
    """A player of one run.

    It maps recorded ids, paths and terminals to the client's current ones.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.open: dict[str, Frame] = {}  # the client's requests, by the recorded id
        self.names: dict[str, str] = {}  # terminals: recorded id -> the client's
        self.asked: dict[str, str] = {}  # the agent's open requests: id -> method

    def play(self, index: int, record: Record) -> None:
        if "raw" in record:
            self.agent.raw(record["raw"].encode())
        elif record["dir"] == "a2c":
            self._say(self._renamed(record["msg"]))
        else:
            self._listen(index, record["msg"])

    def _say(self, message: Frame) -> None:
        """Send a recorded message of the agent."""
        if "method" in message:
            if "id" in message:
                self.asked[json.dumps(message["id"])] = message["method"]
            self.agent.send(message)
            return
        request = self.open.pop(json.dumps(message.get("id")), None)
        if request is not None:
            self.agent.send({**message, "id": request["id"]})

    def _listen(self, index: int, message: Frame) -> None:
        """Wait for a recorded message of the client."""
        if "method" not in message:
            self._answer(index, message)
        elif is_played(message):
            if message["method"] in BY_THE_USER:
                self.agent.note(f"want {index}")
            frame = self._take(message["method"])
            if "id" in message:
                self.open[json.dumps(message["id"])] = frame

    def _take(self, method: str) -> Frame:
        """Wait for the client's next message of that method. Refuse other requests meanwhile."""
        while (frame := self.agent.next())["method"] != method:
            if "id" in frame:
                self.agent.refuse(frame, -32601, f"no method {frame['method']}")
        return frame

    def _answer(self, index: int, recorded: Frame) -> None:
        """Wait for the answer to one of the agent's requests, and learn the names in it."""
        method = self.asked.pop(json.dumps(recorded["id"]), None)
        if method is None:
            return
        if method in QUESTIONS:
            self.agent.note(f"want {index}")
        answer = self.agent.answer(recorded["id"])
        if method == "terminal/create" and "result" in answer and "result" in recorded:
            self.names[recorded["result"]["terminalId"]] = answer["result"]["terminalId"]

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.names.get(value, value)
        if isinstance(value, list):
            return [self._renamed(item) for item in value]
        if isinstance(value, dict):
            return {key: self._renamed(item) for key, item in value.items()}
        return value


@whole_life
def replay(agent: Agent, path: str, cwd: str, log: str) -> None:
    """Play FILE in the directory CWD. LOG is the agent's own log, which counts its starts."""
    starts = sum('"note": "start ' in line for line in Path(log).read_text().splitlines())
    player = Player(agent)
    for index, record in runs(Path(path), cwd)[starts - 1]:
        player.play(index, record)
    agent.note("done")
    while True:
        frame = agent.next()
        if "id" in frame:
            agent.refuse(frame, -32601, f"no method {frame['method']}")
