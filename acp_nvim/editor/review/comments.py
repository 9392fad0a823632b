"""Remarks on hunks that go with the next prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from acp_nvim.protocol import schema
from acp_nvim.session.prompts import Excerpt, Prompt

HEAD = "Remarks on your edits:"


class Comment(msgspec.Struct, frozen=True):
    """What the user says about some lines (1-based, inclusive) and what these are now."""

    path: str
    first: int
    last: int
    text: str
    lines: Sequence[str]

    @property
    def place(self) -> str:
        """`main.py:3-9`."""
        lines = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{Path(self.path).name}:{lines}"


class Comments:
    """Waiting remarks, in the order in which they were made."""

    def __init__(self) -> None:
        self._waiting: list[Comment] = []
        self._notes: dict[int, list[str]] = {}

    def add(self, comment: Comment) -> None:
        """Keep a remark for the next prompt."""
        self._waiting.append(comment)

    def note(self, n: int, text: str) -> None:
        """Keep a paragraph for the next prompt of session n: nobody else is concerned."""
        self._notes.setdefault(n, []).append(text)

    def join(self, prompt: Prompt, n: int) -> None:
        """Put what waits into a prompt of session n. A slash command is left alone: it takes no
        more text.
        """
        if prompt.text.startswith("/"):
            return
        waiting, self._waiting = self._waiting, []
        paragraphs = self._notes.pop(n, [])
        if waiting:
            listed = [f"- {item.place}: {item.text}" for item in waiting]
            paragraphs.insert(0, "\n".join([HEAD, *listed]))
        if not paragraphs:
            return
        words = "\n\n".join(paragraphs)
        if prompt.given:
            prompt.given = [*prompt.given, schema.TextContent(words)]
        else:
            prompt.text = f"{prompt.text}\n\n{words}".strip()
        excerpts = [
            Excerpt(item.path, "\n".join(item.lines), item.first, item.last)
            for item in waiting
            if item.lines
        ]
        prompt.attachments = [*prompt.attachments, *excerpts]
