"""Scripted agent that calls the editor's own tools through the relay."""

from __future__ import annotations

import json
from typing import Any

from tests.support.editor import Editor
from tests.support.traffic import Traffic


class Caller:
    """Agent that calls tools of the editor it runs in."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.agent: Traffic = editor.agent("script")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool in a separate turn and return the result."""
        before = len(self.results(tool))
        self.editor.turn(f"mcp nvim_{tool} {json.dumps(arguments)}")
        return self.results(tool)[before]

    def results(self, tool: str) -> list[dict[str, Any]]:
        """Return the results of a tool so far."""
        head = f"mcp nvim_{tool} "
        notes = [note.removeprefix(head) for note in self.agent.notes() if note.startswith(head)]
        return [json.loads(note)["result"] for note in notes]

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the text of a result without an error."""
        found = self.call(tool, **arguments)
        assert not found.get("isError"), found
        text: str = found["content"][0]["text"]
        return text

    def error(self, tool: str, **arguments: Any) -> str:
        """Return the text of a result with an error."""
        found = self.call(tool, **arguments)
        assert found.get("isError"), found
        text: str = found["content"][0]["text"]
        return text
