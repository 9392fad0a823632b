"""Remarks on hunks that go with the next prompt. Neovim knows of each until it has gone: when this
process is killed the next one has them from there (`lua/acp/review/comment.lua`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.file_format import clean
from acp_nvim.protocol import schema
from acp_nvim.session.prompts import Excerpt, Prompt

HEAD = "Remarks on your edits:"


class Comment(msgspec.Struct, frozen=True):
    """What the user says about some lines (1-based, inclusive) and what these are now."""

    id: int
    """Neovim's number of it."""
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


def understood(args: Mapping[str, Any], path: str, entry: Pending | None) -> Comment:
    """A remark `{id, line, text, context}` on what is at a line of a file: its hunk, or the line
    alone. One that was understood before, by `{first, last, lines}`, stays as it was.
    """
    line = int(args.get("line", 1))
    first, last, lines = line, line, tuple(args.get("lines") or ())
    hunk = entry.hunk_at(line - 1) if entry is not None and entry.live is not None else None
    if args.get("first") is not None:
        first, last = int(args["first"]), int(args["last"])
    elif hunk and hunk.lines:
        first, last, lines = hunk.new_start + 1, hunk.new_end, tuple(hunk.lines)
    elif args.get("context") is not None:
        lines = clean(Text((str(args["context"]),))).lines
    return Comment(int(args["id"]), path, first, last, str(args["text"]), lines)


class Comments:
    """Waiting remarks, in the order in which they were made."""

    def __init__(self, push: Callable[..., None]) -> None:
        """`push` queues a frame operation."""
        self._push = push
        self._waiting: list[Comment] = []
        self._notes: dict[int, list[str]] = {}

    def add(self, comment: Comment) -> None:
        """Keep a remark for the next prompt; one that waits already is not kept twice."""
        if all(waiting.id != comment.id for waiting in self._waiting):
            self._waiting.append(comment)
            where = comment.first, comment.last, list(comment.lines)
            self._push("remark", comment.id, *where)

    def note(self, n: int, text: str) -> None:
        """Keep a paragraph for the next prompt of session n: nobody else is concerned."""
        self._notes.setdefault(n, []).append(text)
        self._push("noted", n, text)

    def take_over(self, remarks: Iterable[Comment], notes: Iterable[Mapping[str, Any]]) -> None:
        """What waited when the process before this one died; a note is `{n, text}`."""
        for comment in remarks:
            self.add(comment)
        for note in notes:
            self._notes.setdefault(int(note["n"]), []).append(str(note["text"]))

    def join(self, prompt: Prompt, n: int) -> None:
        """Put what waits into a prompt of session n, and into its words too where others' blocks
        stand for them: by those it is given back. A slash command is left alone: it takes no more
        text.
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
        self._push("remarked", n, [item.id for item in waiting])
        words = "\n\n".join(paragraphs)
        if prompt.given:
            prompt.given = [*prompt.given, schema.TextContent(words)]
        prompt.text = f"{prompt.text}\n\n{words}".strip()
        excerpts = [
            Excerpt(item.path, "\n".join(item.lines), item.first, item.last)
            for item in waiting
            if item.lines
        ]
        prompt.attachments = [*prompt.attachments, *excerpts]
