"""Remarks on hunks, which are sent with the next prompt.

`acp.features.review.comment` keeps each remark until it has been sent, so that a new host receives
it after a crash.
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

HEAD = "Comments on your edits:"


class Comment(msgspec.Struct, frozen=True):
    """Remark by the user on some lines (1-based, inclusive), with their current text."""

    id: int
    """Number assigned by Lua."""
    path: str
    first: int
    last: int
    text: str
    lines: Sequence[str]

    @property
    def place(self) -> str:
        """Return the file's name and the lines, such as `main.py:3-9`."""
        lines = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{Path(self.path).name}:{lines}"


def comment_from(args: Mapping[str, Any], path: str, entry: Pending | None) -> Comment:
    """Return the remark from a Lua table `{id, line, text, context}`.

    The remark is on the hunk at the line, or on the line if there is no hunk. If the table has
    `{first, last, lines}`, the remark is on these lines.
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
    """Remarks to send, in the order in which they were made."""

    def __init__(self, push: Callable[..., None]) -> None:
        """`push` queues a frame operation."""
        self._push = push
        self._waiting: list[Comment] = []
        """Remarks for the next prompt of any session."""
        self._notes: dict[int, list[str]] = {}
        """Paragraphs for the next prompt of each session, by number."""

    def add(self, comment: Comment) -> None:
        """Add a remark to the next prompt, unless it has already been added."""
        if all(waiting.id != comment.id for waiting in self._waiting):
            self._waiting.append(comment)
            self._push("remark", comment.id, comment.first, comment.last, list(comment.lines))

    def note(self, n: int, text: str) -> None:
        """Add a paragraph to the next prompt of session n."""
        self._notes.setdefault(n, []).append(text)
        self._push("noted", n, text)

    def restore(self, remarks: Iterable[Comment], notes: Iterable[Mapping[str, Any]]) -> None:
        """Restore the remarks and notes of a host process that has ended; a note is `{n, text}`."""
        for comment in remarks:
            self.add(comment)
        for note in notes:
            self._notes.setdefault(int(note["n"]), []).append(str(note["text"]))

    def join(self, prompt: Prompt, n: int) -> None:
        """Add the remarks and notes to a prompt of session n, unless it is a slash command.

        In a prompt that consists of blocks, they are added as a block, and to the text from which
        the prompt is restored. The block begins with a blank line, since some agents join the texts
        of blocks.
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
            prompt.given = [*prompt.given, schema.TextContent(f"\n\n{words}")]
        prompt.comments = words.strip()
        prompt.text = f"{prompt.text}\n\n{words}".strip()
        excerpts = [
            Excerpt(item.path, "\n".join(item.lines), item.first, item.last)
            for item in waiting
            if item.lines
        ]
        prompt.attachments = [*prompt.attachments, *excerpts]
