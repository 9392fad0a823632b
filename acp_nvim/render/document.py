"""Chat of one session as rows, and the operations that update the screen.

The document stores each entry's number of rows, so that the cost of an update depends only on the
change. Text of a message is appended. Any other entry is drawn again, and only rows that differ are
replaced.
"""

from __future__ import annotations

import time
from itertools import groupby

from msgspec import Struct, field

from acp_nvim import wording
from acp_nvim.render.batch import Batch, Op
from acp_nvim.render.calls import tools
from acp_nvim.render.calls.titles import GATHERED
from acp_nvim.render.cards import legend
from acp_nvim.render.entry_rows import draw_entry
from acp_nvim.render.rows import Row, Target, row
from acp_nvim.render.stream import Stream
from acp_nvim.render.text import one_line
from acp_nvim.session.transcript.entries import (
    Entry,
    Message,
    Past,
    SessionMessage,
    TerminalEntry,
    ToolEntry,
    length,
)
from acp_nvim.session.transcript.transcript import Transcript

BLANK: Row = ("", (), None)

ENTRY_COST = 400
"""Cost of an entry other than a message, in addition to its characters."""


class Static(Struct, eq=False):
    """Block of an entry that is drawn again when it changes."""

    is_separated: bool
    """Whether a blank row precedes the block."""
    drawn: list[Row] = field(default_factory=list)
    """Rows on the screen above `under`."""
    under: list[str] = field(default_factory=list)
    """Rows of plain text below `drawn`."""
    is_folded: bool = False

    @property
    def visible_rows(self) -> list[Row]:
        """Return the rows on the screen."""
        if self.under:
            self.drawn += [(text, (), None) for text in self.under]
            self.under = []
        return self.drawn

    @property
    def rows(self) -> int:
        """Return the number of rows on the screen."""
        return len(self.drawn) + len(self.under)

    @property
    def ends_blank(self) -> bool:
        """Return whether the last visible row is empty and remains so.

        The row inside a fold is not visible. The row below a question is removed with it.
        """
        if not self.rows or self.is_folded:
            return False
        text, _, target = self.visible_rows[-1]
        return not text and target is None

    def update(self, start: int, at_top: bool, rows: list[Row], batch: Batch) -> int:
        """Replace the rows that differ from `rows`. Return the number of characters."""
        old, self.drawn = self.visible_rows, rows
        if not old:
            return batch.replace(start, start + at_top, rows) if rows else 0
        if self.is_folded and old[-1] != rows[-1] and old[-1][0] == rows[-1][0]:
            # The last row of a fold is not replaced together with rows above it, because the fold
            # would lose its end.
            used = self._change(start, at_top, old[:-1], rows[:-1], batch)
            below = start + len(rows) - 1
            return used + batch.replace(below, below + 1, rows[-1:])
        return self._change(start, at_top, old, rows, batch)

    def _change(
        self, start: int, at_top: bool, old: list[Row], rows: list[Row], batch: Batch
    ) -> int:
        if len(old) == len(rows) == 1:
            if old[0] == rows[0]:
                return 0
            return batch.replace(start, start + 1 + at_top, rows, is_joinable=not self.is_folded)
        top = _common_prefix_length(old, rows)
        bottom = _common_prefix_length(old[top:][::-1], rows[top:][::-1])
        if top == len(old) == len(rows):
            return 0
        fresh = rows[top : len(rows) - bottom]
        last = start + len(old) - bottom + at_top
        return batch.replace(start + top, last, fresh, is_joinable=not self.is_folded)


class Document:
    """Drawn transcript in the chat of session `n`."""

    def __init__(self, n: int, style: tools.Style, thoughts: str = "fold") -> None:
        """`thoughts` is option `chat.thoughts`: fold, show or hide."""
        self.n = n
        self._style = style
        self._thoughts = thoughts
        self._blocks: list[Stream | Static] = []
        self._positions: dict[Entry, int] = {}
        """Index of each entry's block."""
        self._starts: list[int] = []
        """First row of each block, as far as known."""
        self._height = 0
        """Number of rows on the screen."""
        self._last_block: tuple[Entry, Stream | Static] | None = None
        """The last entry and its block. It is never a terminal, which may move into a tool call."""
        self._skipped: dict[Message, int] = {}
        """Number of characters of each message that count as drawn but are not."""
        self._run: list[ToolEntry] = []
        """Consecutive tool calls at the end."""
        self._gathered: dict[ToolEntry, str] = {}
        """Name of the fold that a call shares with others of its kind."""
        self._generation = ""
        """Part of the ids of folds that makes them differ from the ids of an earlier process."""
        self._dirty: dict[Entry, None] = {}
        self.drawn = 0
        """Number of characters drawn, to compare with `Transcript.written`."""

    def adopt(self, entry: Past) -> None:
        """Continue a chat that an earlier host process drew."""
        block = Static(False, self._rows(entry))
        self._add_block(entry, block)
        self._height = block.rows
        self._generation = f"{block.rows}."

    def draw(self, transcript: Transcript, budget: int) -> tuple[list[Op], int]:
        """Return operations for the dirty entries, and the rest of `budget` characters.

        An entry that does not fit stays dirty, and so do all later ones, to preserve the order.
        """
        first = self.redraw(transcript) if transcript.must_redraw else []
        batch = Batch(self.n)
        self._dirty = dirty = transcript.dirty
        for entry in list(dirty):
            if budget <= 0:
                break
            if entry.__class__ is Message:
                used, done = self._draw_message(entry, budget, batch)
            else:
                used, done = self._draw_static(entry, batch), True
            budget -= used
            if not done:
                break
            del dirty[entry]
        return first + batch.operations(), budget

    def restyle(self, style: tools.Style, thoughts: str) -> bool:
        """Set the appearance. Return whether it has changed."""
        before, self._style, self._thoughts = (self._style, self._thoughts), style, thoughts
        return before != (style, thoughts)

    def redraw(self, transcript: Transcript) -> list[Op]:
        """Mark all entries as dirty. Return the operation that clears the chat."""
        self._blocks, self._positions, self._starts, self._skipped = [], {}, [], {}
        self._height, self._last_block = 0, None
        self._run, self._gathered = [], {}
        transcript.dirty = dict.fromkeys(transcript.entries)
        transcript.must_redraw = False
        self.drawn = transcript.dropped_text
        return [["reset_chat", self.n]]

    def _skip(self, message: Message) -> None:
        """Count hidden text as drawn, once."""
        total = message.dropped + length(message.parts)
        self.drawn += total - self._skipped.get(message, 0)
        self._skipped[message] = total

    def _draw_message(self, message: Message, budget: int, batch: Batch) -> tuple[int, bool]:
        """Draw the next part of a message. Return its size, and whether all is drawn.

        Erase replaced parts first. A new message ends the run of tool calls above it.
        """
        if message.role == "thought" and self._thoughts == "hide":
            self._skip(message)
            return 0, True
        if message.dropped:
            self._erase(message, batch)
            if not message.parts:
                return 0, True
        is_folded = message.role == "thought" and self._thoughts == "fold"
        at = self._positions.get(message)
        if at is None:
            stream = self._new_stream(message, self._needs_blank_above(message))
            self._end_run(batch)
            at = self._add_block(message, stream)
        block = self._blocks[at]
        assert isinstance(block, Stream)
        is_new = block.rows == 0
        start, before, drawn = self._start_row(at), block.rows, block.drawn
        done = block.draw(batch, self.n, start, not self._height, budget)
        used = block.drawn - drawn
        self._move_starts(at, before, block.rows)
        self.drawn += used
        if is_new and is_folded and block.rows:
            first = start + len(block.head) - 1
            batch.fold(self._fold_id(at), first, start + block.rows - 1, False)
        return used, done

    def _new_stream(self, message: Message, is_separated: bool) -> Stream:
        is_thought = message.role == "thought"
        return Stream(
            message,
            [BLANK] * is_separated + _message_heading(message),
            foot=is_thought and self._thoughts == "fold",
            dim="AcpThought" if is_thought else None,
            cwd=self._style.cwd,
            replaced=message.dropped,
        )

    def _erase(self, message: Message, batch: Batch) -> None:
        """Remove the rows of a message whose parts were replaced, if it is drawn.

        The replaced text counts as drawn, whether or not it ever was.
        """
        at = self._positions.get(message)
        if at is None:
            self.drawn += message.dropped - self._skipped.get(message, 0)
            self._skipped[message] = message.dropped
            return
        block = self._blocks[at]
        assert isinstance(block, Stream)
        if block.replaced == message.dropped:
            return
        self.drawn += message.dropped - block.replaced - block.drawn
        if block.rows:
            start = self._start_row(at)
            batch.replace(start, start + block.rows, [])
        fresh = self._new_stream(message, bool(block.head) and block.head[0] is BLANK)
        self._blocks[at] = fresh
        if self._last_block is not None and self._last_block[0] is message:
            self._last_block = message, fresh
        self._move_starts(at, block.rows, 0)

    def _draw_static(self, entry: Entry, batch: Batch) -> int:
        """Draw an entry other than a message. Return its cost.

        If it is already drawn, dissolve its group and replace only the rows that differ.
        """
        at = self._positions.get(entry)
        if at is None:
            return self._append(entry, batch)
        block = self._blocks[at]
        assert block.__class__ is Static
        if self._gathered and entry in self._gathered:
            self._ungather(entry, batch)
        if _is_shown_by_another(entry) and not block.is_folded:
            rows = [BLANK] if block.is_separated else []
            start, before = self._start_row(at), block.rows
            used = block.update(start, not self._height, rows, batch)
            self._move_starts(at, before, len(rows))
            return ENTRY_COST + used
        tool = entry if entry.__class__ is ToolEntry else None
        rows = self._rows(entry)
        folds = block.is_folded or (_is_foldable(entry) and len(rows) > 1)
        if block.is_separated and rows:
            rows.insert(0, BLANK)
        if folds:
            rows.append(_last_row_of_fold(tool))
        start, before = self._start_row(at), block.rows
        used = block.update(start, not self._height, rows, batch)
        self._move_starts(at, before, len(rows))
        if folds:
            self._fold(block, at, start, tool, batch)
        return ENTRY_COST + used

    def _append(self, entry: Entry, batch: Batch) -> int:
        """Draw a new entry below all others. Return its cost.

        An entry with rows ends the run of tool calls above it, unless it is a tool call.
        """
        is_separated = self._needs_blank_above(entry)
        if _is_shown_by_another(entry):
            above = self._last_block
            self._add_block(entry, Static(is_separated=False))
            self._last_block = above
            return ENTRY_COST
        if entry.__class__ is ToolEntry and (drawn := self._short_call(entry)) is not None:
            return self._append_short_call(entry, drawn, is_separated, batch)
        rows = self._rows(entry)
        if rows and entry.__class__ is not ToolEntry:
            self._end_run(batch)
        block = Static(is_separated, rows)
        at = self._add_block(entry, block)
        if not rows:
            return ENTRY_COST
        is_foldable = len(rows) > 1 and _is_foldable(entry)
        tool = entry if entry.__class__ is ToolEntry else None
        if is_separated:
            rows.insert(0, BLANK)
        if is_foldable:
            rows.append(_last_row_of_fold(tool))
        top = self._height
        self._height = top + len(rows)
        used = batch.replace(top, top or 1, rows)
        if is_foldable:
            self._fold(block, at, top, tool, batch)
        return ENTRY_COST + used

    def _append_short_call(
        self, entry: ToolEntry, drawn: tuple[Row, list[str]], is_separated: bool, batch: Batch
    ) -> int:
        """Draw a new tool call that has one line and folded text below it. Return the cost."""
        line, under = drawn
        rows = [BLANK, line] if is_separated else [line]
        if under:
            under.append("")  # the end of the fold
        top = self._height
        first = top + is_separated
        last = first + len(under)
        at = self._add_block(entry, Static(is_separated, rows, under, bool(under)))
        self._height = last + 1
        used = batch.replace(top, top or 1, rows, under)
        if under:
            batch.fold(self._fold_id(at), first, last, False)
        return ENTRY_COST + used

    def _short_call(self, entry: ToolEntry) -> tuple[Row, list[str]] | None:
        """Return a tool call as a line and the texts below it, or None if it has other rows."""
        try:
            return tools.draw_short(entry, self._style)
        except Exception as error:
            return _error_row(error), []

    def _fold_id(self, at: int) -> str:
        return f"t{self._generation}{at}"

    def _rows(self, entry: Entry) -> list[Row]:
        """Return the rows of an entry, or a row with the error if drawing it fails."""
        try:
            if entry.__class__ is ToolEntry:
                if (drawn := tools.draw_short(entry, self._style)) is not None:
                    return [drawn[0], *((text, (), None) for text in drawn[1])]
                return tools.draw(entry, self._style)
            return draw_entry(entry, self._style.tool_lines, self._style.cwd)
        except Exception as error:
            return [_error_row(error)]

    def _fold(
        self, block: Static, at: int, start: int, entry: ToolEntry | None, batch: Batch
    ) -> None:
        """Fold a tool call as soon as it has content. Keep the fold open during a question.

        Without an entry, the block is a message between sessions, or a call of an earlier chat.
        """
        has_question = (
            entry is not None and bool(entry.decisions) and entry.open_question is not None
        )
        if not block.is_folded:
            block.is_folded = True
            batch.fold(
                self._fold_id(at), start + block.is_separated, start + block.rows - 1, has_question
            )
        elif entry is not None and entry.decisions:
            batch.add(["fold_open", self.n, self._fold_id(at), has_question])

    # -- gathered calls ---------------------------------------------------------------------------

    def _end_run(self, batch: Batch) -> None:
        """Collapse the last run of tool calls, since another entry follows.

        Several completed calls of a kind become one line that can be opened. Others stay visible.
        """
        run, self._run = self._run, []
        for kind, calls in groupby(run, self._gathered_kind):
            alike = list(calls)
            if kind and len(alike) > 1:
                self._gather(alike, batch)

    def _gathered_kind(self, entry: ToolEntry) -> str:
        """Return the kind under which a call is gathered with others, or an empty string."""
        call = entry.call
        is_completed = call.status == "completed" and not call.assumed and entry not in self._dirty
        is_alone = entry.open_question is not None or _is_shown_by_another(entry)
        is_alone = is_alone or any(decision.reason for decision in entry.decisions)
        return call.kind if is_completed and not is_alone and call.kind in GATHERED else ""

    def _gather(self, calls: list[ToolEntry], batch: Batch) -> None:
        top, bottom = self._positions[calls[0]], self._positions[calls[-1]]
        block = self._blocks[top]
        first = self._start_row(top) + (isinstance(block, Static) and block.is_separated)
        last = self._start_row(bottom) + self._blocks[bottom].rows - 1
        name = f"g{self._generation}{top}"
        self._gathered.update(dict.fromkeys(calls, name))
        from acp_nvim.render.calls.gathered import gathered_title

        title = gathered_title(calls, self._style.cwd)
        batch.add(["gather", self.n, name, first, last, title])

    def _ungather(self, entry: ToolEntry, batch: Batch) -> None:
        """Dissolve the group of a call that changes."""
        name = self._gathered[entry]
        self._gathered = {call: fold for call, fold in self._gathered.items() if fold != name}
        batch.add(["ungather", self.n, name])

    def _needs_blank_above(self, entry: Entry) -> bool:
        """Return whether an entry needs a blank row above it.

        It needs none at the top, between tool calls, or below a blank row.
        """
        if self._last_block is None:
            return False
        above, block = self._last_block
        if above.__class__ is ToolEntry and entry.__class__ is ToolEntry:
            return False
        if block.ends_blank:
            return False
        return not (isinstance(entry, ToolEntry) and _is_folded_thought(above))

    def _add_block(self, entry: Entry, block: Stream | Static) -> int:
        at = self._positions[entry] = len(self._blocks)
        self._blocks.append(block)
        if entry.__class__ is not TerminalEntry:
            self._last_block = entry, block
        if entry.__class__ is ToolEntry:
            self._run.append(entry)
        return at

    def _start_row(self, at: int) -> int:
        """Return the first row of a block. It is the number of rows above, which is cached."""
        while len(self._starts) <= at:
            known = len(self._starts)
            above = self._starts[-1] + self._blocks[known - 1].rows if known else 0
            self._starts.append(above)
        return self._starts[at]

    def _move_starts(self, at: int, before: int, after: int) -> None:
        """Update the starts of the blocks below one that has grown or shrunk."""
        if before != after:
            self._height += after - before
            del self._starts[at + 1 :]


def _error_row(error: Exception) -> Row:
    return row(wording.NOT_DRAWN.format(kind=type(error).__name__, reason=error), "AcpError")


def _message_heading(message: Message) -> list[Row]:
    if message.role == "user":
        turn: Target = {"kind": "turn"}
        if message.sent is not None:
            turn["time"] = time.strftime("%H:%M", time.localtime(message.sent))
        return [row("## " + one_line(message.author or "You"), "AcpUser", turn)]
    if message.role == "thought":
        return [row("▸ Thought", "AcpThoughtHead", {"kind": "fold"})]
    return []


def _last_row_of_fold(entry: ToolEntry | None) -> Row:
    """Return the blank row that ends a fold.

    In a chat that follows new text, the cursor is on it, so the keys of a question above work on
    it.
    """
    asks = entry.open_question if entry is not None and entry.decisions else None
    return BLANK if asks is None else legend(asks)


def _is_foldable(entry: Entry) -> bool:
    """Return whether an entry of several rows folds under its first one."""
    if isinstance(entry, Past):
        return entry.folds
    return entry.__class__ is ToolEntry or entry.__class__ is SessionMessage


def _is_shown_by_another(entry: Entry) -> bool:
    """Return whether a call of the editor's tools is shown instead of this one.

    A call with a question is always shown.
    """
    if entry.__class__ is not ToolEntry:
        return False
    return entry.call.shown_by is not None and not entry.decisions


def _is_folded_thought(entry: Entry) -> bool:
    return isinstance(entry, Message) and entry.role == "thought"


def _common_prefix_length(a: list[Row], b: list[Row]) -> int:
    """Return the length of the common prefix."""
    count = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        count += 1
    return count
