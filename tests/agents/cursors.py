"""An agent that forks its sessions at cursors only, as strictly as rfds/session-cursors allows."""

from __future__ import annotations

from tests.agents.agent import Agent, Frame
from tests.agents.loop import handshake, prompt_text, update_of, whole_life

INVALID = -32602


class Forks:
    """Cursors that the agent has announced: `{session: {cursor: its anchor, or None}}`.

    A cursor without an anchor was withdrawn.
    """

    def __init__(self, agent: Agent, side: str) -> None:
        self.agent, self.side = agent, side
        self.known: dict[str, dict[str, Frame | None]] = {}

    def open(self, request: Frame, earlier: dict[str, Frame | None]) -> None:
        """Answer with a new session, and announce the cursors that it has from an earlier one."""
        session = self.agent.session = f"s{len(self.known) + 1}"
        self.known[session] = {}
        self.agent.reply(request, {"sessionId": session})
        for cursor, anchor in earlier.items():
            if anchor is not None:
                self.announce(f"{session}-{cursor}", anchor)

    def announce(self, cursor: str, anchor: Frame) -> None:
        self.known[self.agent.session][cursor] = anchor
        self._tell(cursor, {"fork": {}}, anchor=anchor)

    def withdraw(self, cursor: str) -> None:
        self.known[self.agent.session][cursor] = None
        self._tell(cursor, None)

    def _tell(self, cursor: str, capabilities: Frame | None, **more: Frame) -> None:
        """Send an update, unless a client of version 1 has not asked for such updates."""
        asked = self.agent.client.get("session", {}).get("cursors")
        if asked is not None or getattr(self.agent, "newer", False):
            fields = {"cursorId": cursor, "capabilities": capabilities, **more}
            self.agent.update(update_of("cursor_update", **fields))

    def fork(self, request: Frame) -> None:
        """Fork a session at a cursor of it, else refuse."""
        params = request["params"]
        known = self.known.get(params["sessionId"], {})
        if known.get(params.get("cursorId")) is None:
            self.agent.refuse(request, INVALID, "no such cursor in this session")
            return
        kept = list(known.items())[: list(known).index(params["cursorId"]) + 1]
        self.open(request, dict(kept))

    def turn(self, request: Frame) -> None:
        """Echo the prompt, answer, and announce a cursor on one side of the turn."""
        agent = self.agent
        agent.turn, agent.session = request, request["params"]["sessionId"]
        n = sum(len(cursors) for cursors in self.known.values()) + 1
        text = prompt_text(request)
        if self.side == "before":
            self.announce(
                f"c{n}", {"type": "user_message", "messageId": f"u{n}", "position": "before"}
            )
        if not getattr(agent, "newer", False):
            content = {"type": "text", "text": text}
            agent.update(update_of("user_message_chunk", content=content, messageId=f"u{n}"))
        agent.say(f"answer to {text}", messageId=f"m{n}")
        if self.side != "before":
            self.announce(
                f"c{n}", {"type": "agent_message", "messageId": f"m{n}", "position": "after"}
            )
        if text == "withdraw":
            self.withdraw(f"c{n}")
        agent.end()


@whole_life
def forks_at_cursors(agent: Agent, side: str = "after") -> None:
    """Announce a cursor in each turn: `before` its prompt, or `after` its answer.

    The prompt `withdraw` withdraws the cursor of its turn.
    """
    handshake(agent)
    forks = Forks(agent, side)
    while True:
        frame = agent.next()
        match frame["method"]:
            case "session/new":
                forks.open(frame, {})
            case "session/fork":
                forks.fork(frame)
            case "session/prompt":
                forks.turn(frame)
            case method if "id" in frame:
                agent.refuse(frame, -32601, f"no method {method}")
