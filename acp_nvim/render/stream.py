"""Drawing of a growing message. Each piece of its text is sent to the screen once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from acp_nvim import wording
from acp_nvim.render.batch import Batch
from acp_nvim.render.content import draw_block
from acp_nvim.render.cutting import LineLimit
from acp_nvim.render.markdown import MAX_LENGTH, Highlighter
from acp_nvim.render.rows import Row, decor, decor_op, row, width
from acp_nvim.render.text import visible
from acp_nvim.session.transcript.entries import Message, Part

RULE = "AcpUserRule"
"""Highlight group that marks each row of a user's message."""

MAX_UNFOLDED = 4
"""Maximum number of rows of a content block that is not folded."""


class Stream:
    """Drawn `Message`. Its rows are the head, the text, and a blank row if it folds."""

    def __init__(
        self,
        message: Message,
        head: list[Row],
        *,
        foot: bool,
        dim: str | None,
        cwd: str = "",
        replaced: int = 0,
    ) -> None:
        """`head` are the rows above the text. `foot` adds a blank row below it.

        `dim` is a group for the whole text, instead of Markdown. Files below `cwd` are named
        relative to it. `replaced` is the number of earlier characters of the message that were
        dropped.
        """
        self.replaced = replaced
        self.message = message
        self.rows = 0
        self.drawn = 0
        """Part of `Transcript.written`: characters, plus one for each block other than text."""
        self.head = head
        self._has_foot = foot
        self._dim = dim
        self._cwd = cwd
        self._is_user = message.role == "user"
        self._part = 0
        """Index of the next part of the message."""
        self._text = ""
        """Text being drawn."""
        self._offset = 0
        """Number of its characters already drawn."""
        self._carry = ""
        """End of the drawn text whose meaning depends on what follows."""
        self._has_visible_part = False
        """Whether a visible part of the message is drawn."""
        self._tail = ""
        """Last row of the text."""
        self._column = 0
        """Width of the last row."""
        self._highlighter = Highlighter()
        self._limit = LineLimit()

    @property
    def ends_blank(self) -> bool:
        """Return whether the last visible row is empty."""
        return self.rows > 0 and not self._tail and not self._has_foot

    def draw(self, batch: Batch, n: int, start: int, at_top: bool, budget: int) -> bool:
        """Draw up to `budget` characters below row `start`. Return whether all is drawn.

        `drawn` grows by the same number. `at_top` means that the buffer has only its initial line.
        """
        is_done = False
        while not is_done and budget > 0:
            text, block, is_done = self._next_piece(budget)
            first = start + (
                self.rows - (2 if self._has_foot else 1) if self.rows else len(self.head)
            )
            if block:
                lines, marks, targets = self._block_rows(text, block)
                self._insert(batch, n, start, at_top, lines, marks, targets)
                if len(block) > MAX_UNFOLDED:
                    top = first + len(lines) - 1 - len(block)
                    name = f"c{self.message.number}-{self._part}"
                    batch.fold(name, top, top + len(block) - 1, False)
            elif text or not self.rows:
                lines = text.split("\n")
                self._insert(batch, n, start, at_top, lines, self._spans(lines), [])
            budget -= len(text) + sum(len(line) for line, _, _ in block)
        return is_done

    def _block_rows(self, before: str, block: list[Row]) -> tuple[list[str], list[Any], list[Any]]:
        """Return the rows of a content block, which start on a new row: lines, spans, targets."""
        above = [before] if self._tail or before else []
        spans = self._spans([before]) if above else []
        lines = [*above, *(text for text, _, _ in block), ""]
        offset = len(above)
        own_spans, targets = decor(block)
        spans += [(at + offset, a, b, group) for at, a, b, group in own_spans]
        targets = [[at + offset, data] for at, data in targets]
        self._tail, self._column = "", 0
        return lines, spans, targets

    def _insert(
        self,
        batch: Batch,
        n: int,
        start: int,
        at_top: bool,
        lines: list[str],
        spans: list[Any],
        targets: list[Any],
    ) -> None:
        """Add an operation that appends lines to the text, or shows the whole block."""
        if self.rows:
            row = start + self.rows - (2 if self._has_foot else 1)
            self.rows += len(lines) - 1
            spans = self._user_marks(len(lines)) + spans
            batch.add(["text", n, row, lines, decor_op(spans, targets)])
            return
        above = len(self.head)
        head_spans, head_targets = decor(self.head)
        head_spans = self._user_marks(above + len(lines), self.head) + head_spans
        head_spans += [[at + above, a, b, group] for at, a, b, group in spans]
        head_targets += [[at + above, data] for at, data in targets]
        texts = [text for text, _, _ in self.head] + lines + ([""] if self._has_foot else [])
        self.rows = len(texts)
        batch.add(["chat", n, start, start + at_top, texts, decor_op(head_spans, head_targets)])

    def _user_marks(self, count: int, head: Sequence[Row] = ()) -> list[Any]:
        """Return the marks of a user's rows, except of the blank row above the heading."""
        if not self._is_user:
            return []
        return [(at, 0, 0, RULE) for at in range(bool(head and not head[0][0]), count)]

    def _next_piece(self, budget: int) -> tuple[str, list[Row], bool]:
        """Take the next piece: text up to the budget, or the rows of one content block.

        Return the text, the rows, and whether no piece is left.
        """
        parts = self.message.parts
        block: list[Row] = []
        piece = ""
        if self._offset == len(self._text):
            self._text, self._offset = self._next_text(), 0
        if self._text:
            first = self._limit.skip(self._text, self._offset)
            raw = self._text[first : first + budget]
            self.drawn += first + len(raw) - self._offset
            self._offset = first + len(raw)
            piece = self._limit.cut(raw)
        elif self._part < len(parts):
            block = self._block(parts[self._part])
            self._has_visible_part = True
            self._part += 1
            self.drawn += 1
            self._limit = LineLimit()
        is_done = self._offset == len(self._text) and self._part >= len(parts)
        return self._visible_piece(piece), block, is_done

    def _next_text(self) -> str:
        """Return the text up to the next content block, since one long part is faster to draw."""
        pending = self.message.parts[self._part :]
        try:
            text = "".join(pending)  # type: ignore[arg-type]
        except TypeError:
            pending = list(takewhile(lambda part: isinstance(part, str), pending))
            text = "".join(pending)  # type: ignore[arg-type]
        if len(pending) > 1:
            self.message.join(self._part, self._part + len(pending))
        self._part += len(pending)
        return text

    def _visible_piece(self, piece: str) -> str:
        r"""Return a piece made visible, without blank lines at its end and at the message's start.

        A `\r` at the end is held back, because its `\n` may follow. So are newlines at the end
        after the first, because one blank row separates entries, whatever the agent sends.
        """
        text = self._carry + piece
        if not self._has_visible_part:
            text = text.lstrip("\r\n")
            self._has_visible_part = bool(text)
        length = len(text.rstrip("\r\n"))
        if text[length : length + 1] == "\n" and (length or self._tail):
            length += 1
        self._carry = text[length:]
        return visible(text[:length])

    def _block(self, part: Part) -> list[Row]:
        try:
            where = {"message": self.message.number, "part": self._part}
            return draw_block(part, where, self._cwd)
        except Exception as error:
            return [
                row(wording.NOT_DRAWN.format(kind=type(error).__name__, reason=error), "AcpError")
            ]

    def _spans(self, lines: list[str]) -> list[Any]:
        """Return highlights of the lines that this piece completes, and of the open one."""
        whole = [self._tail + lines[0], *lines[1:]]
        last = len(lines) - 1
        self._tail = whole[-1] if len(whole[-1]) <= MAX_LENGTH else whole[-1][: MAX_LENGTH + 1]
        if self._dim:
            return self._dim_lines(lines, self._dim)
        open_line = whole.pop()
        spans: list[Any] = self._highlighter.lines(whole)
        spans += [(last, a, b, group) for _, a, b, group in self._highlighter.peek(open_line)]
        return spans

    def _dim_lines(self, lines: list[str], group: str) -> list[Any]:
        """Return highlights for whole lines, including the drawn part of the open one."""
        widths = [width(line) for line in lines]
        widths[0] += self._column
        self._column = widths[-1]
        return [(at, 0, end, group) for at, end in enumerate(widths) if end]
