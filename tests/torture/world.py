"""Common parts of the histories in Neovim: an editor, an agent that takes orders, files, a model.

The model is a ledger that gets the same steps and says what each file must hold.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.text import Text, from_lines
from acp_nvim.files.bytes.file_format import Format, decode_as, encode
from acp_nvim.host import review_view
from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.lua import lua_chunk
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

FILES = 4
ROWS = 24

BUFFERS = lua_chunk(__file__, "visible_state")
"""Return the visible state: buffers, pending edits, and the rows at which their hunks are marked.
"""

AS_USER = lua_chunk(__file__, "run_in_buffer")

SHOW = lua_chunk(__file__, "show_in_window")


class Buffer(msgspec.Struct):
    """A loaded buffer."""

    lines: list[str]
    eol: bool
    modified: bool
    bufnr: int
    change: int
    """Number of the text's change in the undo tree."""
    conflict: bool

    @property
    def text(self) -> Text:
        return Text(tuple(self.lines), self.eol)


class World:
    """An editor, its files, and the model."""

    def __init__(self, editor: Editor, seed: int) -> None:
        self.editor = editor
        self.rng = random.Random(seed)
        self.ledger = Ledger()
        self.log: list[str] = []
        self.paths = [str(editor.work / f"f{n}.txt") for n in range(FILES)]
        self.buffers: dict[str, Buffer] = {}
        self.shown: list[dict[str, Any]] = []
        self.n = 1
        self.marked: dict[str, list[list[Any]]] = {}
        self.words = 0
        self.layouts: dict[str, Format] = {}
        self.write_times: dict[str, int] = {}
        """Times of the files' last writes at the end of the last step."""
        self.newest: dict[str, int] = {}
        """Numbers of the buffers' newest changes at the end of the last step."""
        self.undoes = False
        """Whether the user's step is an undo or a redo."""
        for n, path in enumerate(self.paths):
            self.make(n, path)
        repository(editor.work)
        self.head = {path: self.disk(path) for path in self.paths}
        editor.agent("script")
        self.agent = StepwiseAgent(editor)
        editor.turn("say hello")
        self.look()

    def make(self, n: int, path: str) -> None:
        """Create file number n."""
        self.put(path, Text(tuple(f"{n}.{row}" for row in range(ROWS))))

    def put(self, path: str, text: Text, at: Path | None = None) -> None:
        """Write a text in the file's format, to the file itself or to ``at``."""
        (at or Path(path)).write_bytes(encode(text, self.layout(path)))

    def layout(self, path: str) -> Format:
        """Return the format of a file on disk."""
        return self.layouts.get(path, Format())

    # ---- state

    def look(self) -> None:
        """Read buffers and pending edits."""
        found, self.shown, marked = self.editor.lua(BUFFERS)
        self.marked = dict(marked) if isinstance(marked, dict) else {}
        self.buffers = {
            path: msgspec.convert(item, Buffer)
            for path, item in (found.items() if isinstance(found, dict) else ())
        }

    def numbers(self) -> list[int]:
        """Return the numbers of all sessions; `n` is the current one."""
        return [1]

    def named(self, *paths: str) -> list[str]:
        """Return the files that a command names in its tool call."""
        return []

    def shown_edits(self) -> list[dict[str, Any]]:
        """Return the current `state().edits` of all sessions."""
        self.look()
        return self.shown

    def disk(self, path: str) -> Text | None:
        """Return the text of a file on disk."""
        try:
            return self.text(path, Path(path).read_bytes())
        except FileNotFoundError:
            return None

    def text(self, path: str, data: bytes | None) -> Text | None:
        """Return the text that a file with these bytes holds."""
        return None if data is None else decode_as(data, self.layout(path)).text

    def live(self, path: str) -> Text | None:
        """Return the text that the user sees."""
        buffer = self.buffers.get(path)
        disk = self.disk(path)
        if buffer is None or (disk is None and not buffer.modified):
            return disk
        return buffer.text

    def clean(self, path: str) -> bool:
        """Return whether no buffer of the file has unsaved edits."""
        return path not in self.buffers or not self.buffers[path].modified

    def settle(self, lives: dict[str, Text | None], disks: dict[str, Text | None]) -> None:
        """Wait until editor and disk equal the model."""
        wanted = sorted(
            (
                review_view.summary(entry) | {"session": n}
                for n in self.numbers()
                for entry in self.ledger.files(n)
            ),
            key=_order,
        )
        marks = {
            entry.path: [[row["first"], row["last"], row["removed"]] for row in found]
            for entry in self.ledger.files()
            if (found := review_view.rows(entry))
        }

        def problem() -> str:
            self.look()
            shown = sorted(self.shown, key=_order)
            wrong = "" if shown == wanted else f"pending {shown}\n  wanted {wanted}\n"
            marked = {path: hunks for path, hunks in self.marked.items() if hunks}
            if not wrong and marked != marks:
                wrong = f"marked {marked}\n  wanted {marks}\n"
            for path, text in lives.items():
                if self.live(path) != text:
                    wrong += f"live {path}: {self.differs(self.live(path), text)}\n"
            for path, text in disks.items():
                if self.disk(path) != text:
                    wrong += f"disk {path}: {self.differs(self.disk(path), text)}\n"
            return wrong

        try:
            until(lambda: not problem())
        except AssertionError as error:
            raise AssertionError(problem()) from error
        self.write_times = {path: self.written_at(path) for path in self.paths}
        self.newest = {
            path: max(buffer.change, self.newest.get(path, 0))
            for path, buffer in self.buffers.items()
        }

    @staticmethod
    def written_at(path: str) -> int:
        """Return the time of a file's last write, in nanoseconds; 0 if there is no file."""
        return Path(path).stat().st_mtime_ns if Path(path).exists() else 0

    @staticmethod
    def differs(found: Text | None, wanted: Text | None) -> object:
        """Return the difference from the wanted text, in a short form if possible."""
        if found is None or wanted is None:
            return found, wanted
        return diff(wanted.lines, found.lines)

    def follow_editor(self) -> None:
        """Make the model follow the editor after a step of the user."""
        before = {entry.path for entry in self.ledger.files()}
        self.look()
        for path in {*self.paths, *before}:
            self.split_or_join(path)
            entry, live = self.ledger.tracked_entry(path), self.live(path)
            if entry is None or entry.live == live:
                continue
            if live is not None and entry.live is not None and live.lines != entry.live.lines:
                # The save that ends the last line comes after the user's edit.
                text = from_lines(live.lines, entry.live.eol)
                self.ledger.record_user_edit(path, text, is_undo=self.has_undone(path))
            self.ledger.record_user_edit(path, live, is_undo=self.has_undone(path))
        self.settle({}, {})

    def has_undone(self, path: str) -> bool:
        """Return whether the user's last command only moved within the buffer's undo tree."""
        buffer = self.buffers.get(path)
        return self.undoes and buffer is not None and buffer.change <= self.newest.get(path, 0)

    def split_or_join(self, path: str) -> None:
        """Enter in the model whether a buffer has unsaved edits, before its text is entered."""
        if not self.clean(path):
            self.ledger.split_from_disk(path)
        elif self.write_times.get(path) != self.written_at(path):
            self.ledger.disk_entries.drop(path)  # saved
        elif path in self.ledger.disk_entries:
            self.ledger.join_disk(path, self.live(path))

    # ---- the agent

    def word(self, who: str) -> str:
        self.words += 1
        return f"{who} {self.words}"

    def begin(self) -> None:
        """Begin a turn."""
        self.note("turn", self.n)
        self.agent.begin()

    def end(self) -> None:
        """End the turn."""
        self.agent.end()
        if self.all_turns_ended():
            self.editor.wait("not require('acp.buffers.watch').at_work(...)", self.paths[0])
        self.editor.wait("require('acp.buffers.disk_changes').is_settled()")
        self.note("turn ends", self.n)
        self.settle({}, {})

    def all_turns_ended(self) -> bool:
        """Return whether all turns have ended."""
        return not self.agent.working

    def note(self, *words: object) -> None:
        self.log.append(" ".join(map(str, words)))

    def changed(self, text: Text, who: str) -> Text:
        """Return the text with a few lines changed, added or removed."""
        lines = list(text.lines)
        for _ in range(self.rng.randint(1, 3)):
            row = self.rng.randrange(len(lines))
            roll = self.rng.random()
            if roll < 0.45:
                lines[row] = self.word(who)
            elif roll < 0.8:
                lines.insert(row, self.word(who))
            elif len(lines) > 3:
                del lines[row]
        return Text(tuple(lines), text.eol)


def _order(edit: dict[str, Any]) -> tuple[int, str]:
    return int(edit["session"]), str(edit["path"])


def in_lua(lines: Sequence[str]) -> str:
    """Return lines as a table in Lua."""
    return "{" + ",".join(json.dumps(line) for line in lines) + "}"
