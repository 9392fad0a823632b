"""Session that gets updates as JSON, in either version of the protocol, and its chat.

Example:

    chat = JsonChat(version=2)
    chat.update("agent_message", messageId="m", content=[{"type": "text", "text": "hi"}])
    assert "hi" in chat.lines
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.v2 import incoming
from acp_nvim.protocol.v2 import schema as v2
from acp_nvim.render.calls.tools import Style
from acp_nvim.render.document import Document
from acp_nvim.session import state, turns, updates
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from tests.support.drawn_chat import DrawnChat


class JsonChat:
    """Session 1 in a running turn; its lines are drawn on each access."""

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.session = Session(1, "x", "/w")
        turns.begin(self.session, Prompt("go"), "X")
        self.screen = DrawnChat()
        self.notes: list[str] = []
        """Faults that were tolerated in the messages."""
        self._document = Document(1, Style(8, "/w"))

    def update(self, tag: str, **fields: Any) -> None:
        """Send one `session/update`."""
        params = {"sessionId": "s", "update": {"sessionUpdate": tag, **fields}}
        raw = msgspec.Raw(json.dumps(params).encode())
        updates.apply(self.session, self._read(raw))

    def _read(self, raw: msgspec.Raw) -> Any:
        if self.version == 1:
            return codec.decode(schema.SessionNotification, raw, self.notes).update
        return incoming.update(codec.decode(v2.UpdateSessionNotification, raw, self.notes).update)

    def say(self, text: str, **fields: Any) -> None:
        """Send a piece of the agent's message."""
        self.update("agent_message_chunk", content={"type": "text", "text": text}, **fields)

    @property
    def lines(self) -> list[str]:
        """Return the rows of the chat."""
        ops, _ = self._document.draw(self.session.transcript, 1 << 20)
        self.screen.apply(ops)
        return self.screen.lines

    @property
    def text(self) -> str:
        """Return the rows of the chat as one text."""
        return "\n".join(self.lines)

    @property
    def is_drawn(self) -> bool:
        """Return whether all characters count as drawn."""
        return self._document.drawn == self.session.transcript.written

    def statuses(self) -> dict[str, str]:
        """Return the status of each tool call."""
        return {call.id: call.status for call in self.session.tool_calls}

    def changed(self) -> dict[Any, Any]:
        """Return the state that has changed since the last access."""
        return {path[0]: value for path, value in state.take_changes(self.session)}
