"""A scripted agent that calls the editor's own tools through the relay."""

from __future__ import annotations

import json
from typing import Any

from tests.support.editor import Editor
from tests.support.traffic import Traffic


class Caller:
    """An agent that calls tools of the editor it runs in."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.agent: Traffic = editor.agent("script")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """In a turn of its own; the result."""
        before = len(self.told(tool))
        self.editor.turn(f"mcp nvim_{tool} {json.dumps(arguments)}")
        return self.told(tool)[before]

    def told(self, tool: str) -> list[dict[str, Any]]:
        """The results of a tool so far."""
        head = f"mcp nvim_{tool} "
        notes = [note.removeprefix(head) for note in self.agent.notes() if note.startswith(head)]
        return [json.loads(note)["result"] for note in notes]

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of a result that is no error."""
        found = self.call(tool, **arguments)
        assert not found.get("isError"), found
        text: str = found["content"][0]["text"]
        return text

    def error(self, tool: str, **arguments: Any) -> str:
        """The text of one that is."""
        found = self.call(tool, **arguments)
        assert found.get("isError"), found
        text: str = found["content"][0]["text"]
        return text
