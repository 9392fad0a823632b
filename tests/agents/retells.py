"""An agent of version 2 that replays a session whenever it is opened again.

The updates are stored in a file for the next process.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.agents.agent import Agent, Frame
from tests.agents.loop import handshake, prompt_text, whole_life

RUNNING = {"sessionUpdate": "state_update", "state": "running"}
IDLE = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}


class Memory:
    """The updates of a session: a line of JSON for each."""

    def __init__(self, agent: Agent, path: str, ids: str) -> None:
        self.news = Path(path).with_suffix(".news")
        """Updates that the agent sends once after the session is open, one a line."""
        self.script: dict[str, list[Frame]] = json.loads(Path(path).read_text())
        """Updates by the words of a prompt."""
        self._agent, self._renames = agent, ids == "other"
        self._kept = Path(path).with_suffix(".kept")

    def tell(self, update: Frame, *, keeps: bool = True) -> None:
        """Send one `session/update` without a change."""
        params = {"sessionId": "s1", "update": update}
        Agent.send(self._agent, {"jsonrpc": "2.0", "method": "session/update", "params": params})
        if keeps:
            with self._kept.open("a") as file:
                file.write(json.dumps(update) + "\n")

    def replay(self) -> None:
        """Send all updates again."""
        for line in self._kept.read_text().splitlines():
            self.tell(self._again(json.loads(line)), keeps=False)

    def tell_news(self) -> None:
        """Send the news once."""
        news = self.news.read_text().splitlines() if self.news.exists() else []
        self.news.unlink(missing_ok=True)
        for line in news:
            self.tell(json.loads(line))

    def _again(self, update: Frame) -> Frame:
        if not self._renames or "messageId" not in update:
            return update
        return {**update, "messageId": f"{update['messageId']}-{os.getpid()}"}


def _turn(memory: Memory, agent: Agent, request: Frame) -> None:
    """Send the updates that the words of a prompt name. `die` exits."""
    id = f"user-{os.getpid()}-{request['id']}"
    Agent.reply(agent, request, {"messageId": id})
    content = request["params"]["prompt"]
    memory.tell({"sessionUpdate": "user_message", "messageId": id, "content": content})
    memory.tell(RUNNING, keeps=False)
    for word in prompt_text(request).split():
        if word == "die":
            agent.die()
        for update in memory.script.get(word, ()):
            memory.tell(update)
    memory.tell(IDLE, keeps=False)


def _open_again(memory: Memory, agent: Agent, request: Frame, when: str) -> None:
    if when == "works":
        memory.tell(RUNNING, keeps=False)
    if when in ("before", "works"):
        memory.replay()
    Agent.reply(agent, request, {})
    if when == "after":
        memory.replay()
    if when == "works":
        memory.tell_news()
        memory.tell(IDLE, keeps=False)


@whole_life
def retells(agent: Agent, path: str, ids: str = "same", when: str = "before") -> None:
    """Send the updates of the file PATH for the words of a prompt.

    They are replayed `before` or `after` the answer that opens the session again, or `never`, with
    the `same` message IDS or `other` ones. An agent that `works` replays before its answer, and has
    news after it.
    """
    handshake(agent)
    memory = Memory(agent, path, ids)
    while True:
        frame = Agent.next(agent)
        match frame["method"]:
            case "session/new":
                Agent.reply(agent, frame, {"sessionId": "s1"})
            case "session/resume" | "session/load":
                _open_again(memory, agent, frame, when)
            case "session/prompt":
                _turn(memory, agent, frame)
            case "session/list":
                info = {"sessionId": "s1", "cwd": str(Path.cwd()), "title": "Retold"}
                Agent.reply(agent, frame, {"sessions": [info]})
            case _ if "id" in frame:
                Agent.reply(agent, frame, {})
