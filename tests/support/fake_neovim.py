"""Neovim's buffers without Neovim: the functions of `acp.buffers.live` and
`acp.buffers.disk_changes` and the verbs of `acp.buffers.watch`, as plain objects over real files.

It is made for thousands of random histories. Windows, options and autocommands are left to the
tests with an editor.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from acp_nvim.edits.hunks import Hunk, apply
from acp_nvim.edits.text import EMPTY, Text, from_lines
from acp_nvim.files.bytes.disk import signature_of
from acp_nvim.files.bytes.file_format import decode
from acp_nvim.nvim.buffers import EOL, GONE, MODIFIED, NEW, NO_BYTES

LEFT_OUT = ("set_turns", "set_format", "on_checked")
"""Functions without an effect here."""

Tell = Callable[[str, dict[str, Any]], None]


class Buffer:
    """One loaded buffer of a file, with its undo history."""

    def __init__(self, bufnr: int, path: str, text: Text | None, shown: bool) -> None:
        self.bufnr, self.path, self.shown = bufnr, path, shown
        self.text = text if text is not None else EMPTY
        self.tick = 2
        self.modified = False
        self.is_new = text is None
        self.stamp = signature_of(path)
        """Signature of the file when buffer and file were last made equal."""
        self.accepted = self.stamp
        """Signature of the file that Neovim overwrites without asking the user."""
        self.parted = False
        self.lacks_save = False
        """Whether the unsaved text lacks a save in another Neovim."""
        self.states = [(self.text, False)]
        self.at = 0
        self.watched: tuple[int, int] | None = None
        """Tick and number of lines that the host knows."""
        self.unread = False
        """Whether the host has not read the text since Neovim read the file again."""

    def put(self, text: Text, modified: bool) -> None:
        """Set the text as one undo step."""
        self.states[self.at] = self.text, self.modified
        self.states[self.at + 1 :] = [(text, modified)]
        self.at += 1
        self.text, self.modified = text, modified
        self.tick += 1


class FakeNeovim:
    """Neovim behind the bridge's `call`, with a user. `send_verb` receives the verbs."""

    def __init__(self) -> None:
        self.buffers: dict[str, Buffer] = {}
        self.send_verb: Tell = lambda *_: None
        self._numbers = itertools.count(1)

    def call_nowait(self, module: str, function: str, *args: Any) -> None:
        """Ignore a notification."""

    async def call(self, module: str, function: str, *args: Any) -> Any:
        """Run one of the functions below by its Lua name."""
        if function in LEFT_OUT:
            return None
        return getattr(self, f"{module.removeprefix('acp.buffers.')}_{function}")(*args)

    # ---- acp.buffers.live

    def live_read(self, _path: str, real: str, known: int = 0, tick: int = 0) -> list[Any]:
        """Return the text of a buffer, brought up to date."""
        buffer = self.buffers.get(real)
        if buffer is None:
            return [0, "ucs-bom,utf-8,default,latin1", "unix,dos"]
        absent = self._refresh(buffer)
        return self._snapshot(buffer, (known, tick) != (buffer.bufnr, buffer.tick), absent)

    def live_load(self, path: str, real: str, *_: Any) -> list[Any]:
        """Load the file and return the text of its buffer."""
        if real not in self.buffers:
            self.open(real, shown=False)
            return self._snapshot(self.buffers[real], True, 0)
        return self.live_read(path, real)

    def live_write(self, bufnr: int, tick: int, rows: list[Any], want: dict[str, Any]) -> list[Any]:
        """Apply hunks to a buffer and save it."""
        buffer = self._numbered(bufnr)
        if buffer is None or buffer.tick != tick:
            return ["moved"]
        due = want.get("save") == "always" or (
            want.get("save") == "auto" and (want["fresh"] or not buffer.modified)
        )
        if due:
            outcome = self._check(buffer)
            if outcome:
                return [outcome, "the file changed on disk while its buffer has unsaved changes"]
        self._edit(buffer, rows, want)
        if due:
            self._save(buffer)
        if want.get("modified") is not None:
            buffer.modified = want["modified"]
        return ["done", "", due, self._snapshot(buffer, False, 0), buffer.stamp if due else None]

    def live_obstacles(self, paths: list[str], _save: str) -> dict[str, str]:
        """Return the write-protected files."""
        there = [path for path in paths if Path(path).exists()]
        return {path: "write-protected" for path in there if not Path(path).stat().st_mode & 0o222}

    def _check(self, buffer: Buffer) -> str:
        now = signature_of(buffer.path)
        if not buffer.modified:
            return "" if now == buffer.stamp else "moved"
        buffer.parted = buffer.parted or (now is not None and now != buffer.stamp)
        return "conflict" if buffer.parted and now is not None else ""

    def _edit(self, buffer: Buffer, rows: list[Any], want: dict[str, Any]) -> None:
        hunks = [Hunk(first, last, tuple(lines), 0) for first, last, lines in rows]
        text = from_lines(apply(buffer.text.lines, hunks), want["eol"])
        text = EMPTY if want["empty"] else text
        if text != buffer.text or rows:
            buffer.put(text, True)
        self._known(buffer)

    # ---- acp.buffers.disk_changes

    def disk_changes_peek(self, _path: str, real: str) -> list[Any]:
        """Return a buffer unchanged."""
        buffer = self.buffers.get(real)
        if buffer is None:
            return [0, "ucs-bom,utf-8,default,latin1", "unix,dos"]
        return [*self._snapshot(buffer, True, 0), None]

    def disk_changes_merge_change(
        self, bufnr: int, tick: int, rows: list[Any], want: dict[str, Any], stamp: str | None
    ) -> list[Any]:
        """Put the changed text of a file into its buffer."""
        buffer = self._numbered(bufnr)
        if buffer is None or buffer.tick != tick or signature_of(buffer.path) != stamp:
            return ["moved"]
        self._edit(buffer, rows, want)
        buffer.modified, buffer.parted, buffer.is_new = want["modified"], False, False
        buffer.stamp = stamp
        buffer.lacks_save = want["modified"] and (want["unmerged"] or buffer.lacks_save)
        if not buffer.lacks_save:
            buffer.accepted = stamp
        return ["done", "", self._snapshot(buffer, True, 0)]

    def disk_changes_mark_unmerged(self, path: str) -> None:
        """Keep the question before the file is overwritten when the host is restarted."""
        self.buffers[path].lacks_save = True

    def disk_changes_mark_conflict(self, bufnr: int, unmerged: bool) -> None:
        """Keep buffer and file as different texts."""
        buffer = self._numbered(bufnr)
        if buffer is not None:
            buffer.parted = True
            if not unmerged and not buffer.lacks_save:
                buffer.accepted = signature_of(buffer.path)

    def disk_changes_vacate(self, bufnr: int, tick: int, _real: str) -> None:
        """Handle a file that a decision has deleted."""
        buffer = self._numbered(bufnr)
        if buffer is None or buffer.tick != tick:
            return
        buffer.put(EMPTY, False)
        buffer.stamp, buffer.parted, buffer.is_new = None, False, False
        self._known(buffer)
        if not buffer.shown:
            self._leave(buffer)

    def disk_changes_unsaved(self) -> list[dict[str, Any]]:
        """Return the buffers with unsaved text."""
        return [
            {"path": it.path, "lines": list(it.text.lines), "eol": it.text.eol}
            for it in self.buffers.values()
            if it.modified
        ]

    # ---- the user

    def open(self, path: str, shown: bool = True) -> Buffer:
        """`:edit` a file."""
        if path not in self.buffers:
            text = None
            with suppress(FileNotFoundError):  # another process may remove it at any time
                text = decode(Path(path).read_bytes()).text
            self.buffers[path] = Buffer(next(self._numbers), path, text, shown)
        self.buffers[path].shown |= shown
        return self.buffers[path]

    def refresh(self, path: str) -> None:
        """`:checktime` for a file."""
        self.live_read(path, path)

    def type(self, path: str, text: Text) -> None:
        """Set the text of a buffer as the user."""
        buffer = self.buffers[path]
        buffer.put(text, True)
        self._flush(buffer)

    def undo(self, path: str, steps: int) -> bool:
        """Undo steps, or redo a negative number of them; return whether there was anything to
        undo.
        """
        buffer = self.buffers[path]
        at = min(max(buffer.at - steps, 0), len(buffer.states) - 1)
        if at == buffer.at:
            return False
        buffer.states[buffer.at] = buffer.text, buffer.modified
        buffer.at = at
        buffer.text, _ = buffer.states[at]
        disk = Path(path).read_bytes() if Path(path).exists() else None
        buffer.modified = disk is None or decode(disk).text != buffer.text
        buffer.tick += 1
        self._flush(buffer, undone=True)
        return True

    def save_formatted(self, path: str, text: Text) -> None:
        """`:write!` a file whose text an autocommand of BufWritePre replaces."""
        buffer = self.buffers[path]
        buffer.put(text, True)
        self._save(buffer)
        self._flush(buffer)
        self._report_save(buffer)

    def save(self, path: str) -> None:
        """`:write!` a file."""
        buffer = self.buffers[path]
        self._save(buffer)
        self._report_save(buffer)

    def _report_save(self, buffer: Buffer) -> None:
        buffer.parted = False
        saved = {"path": buffer.path, "bufnr": buffer.bufnr, "eol": buffer.text.eol}
        saved |= {"layout": ["utf-8", False, "unix"], "stamp": buffer.stamp}
        if buffer.watched is None or buffer.unread:
            saved["lines"] = list(buffer.text.lines)
        self.send_verb("saved", saved)

    def reload(self, path: str) -> None:
        """`:edit!` a file."""
        buffer = self.buffers[path]
        self._leave(buffer)
        again = self.open(path, buffer.shown)
        again.bufnr, again.tick = buffer.bufnr, buffer.tick + 1

    def wipe(self, path: str) -> None:
        """`:bwipeout!` the buffer of a file."""
        self._leave(self.buffers[path])

    # ---- internals

    def _leave(self, buffer: Buffer) -> None:
        del self.buffers[buffer.path]
        if buffer.watched is not None:
            state = {"path": buffer.path, "bufnr": buffer.bufnr, "is_unload": True}
            self.send_verb("edited", state | {"was_modified": buffer.modified})

    def _numbered(self, bufnr: int) -> Buffer | None:
        return next((it for it in self.buffers.values() if it.bufnr == bufnr), None)

    def _refresh(self, buffer: Buffer) -> int:
        """Reload the file of a clean buffer; return the flags for a buffer without a file."""
        if buffer.modified:
            return 0
        now = signature_of(buffer.path)
        if now is None:
            buffer.stamp = None
            return GONE | (NEW if buffer.is_new else 0)
        if now != buffer.stamp:
            try:
                text = decode(Path(buffer.path).read_bytes()).text
            except FileNotFoundError:  # another process has just removed it
                return self._refresh(buffer)
            buffer.stamp, buffer.accepted, buffer.lacks_save = now, now, False
            buffer.is_new = False
            if text != buffer.text:
                buffer.put(text, False)
                if buffer.watched is not None:
                    buffer.unread = True
                    args = {"path": buffer.path, "bufnr": buffer.bufnr, "is_reload": True}
                    self.send_verb(
                        "edited", args | {"tick_before": buffer.watched[0], "tick": buffer.tick}
                    )
        return 0

    def _snapshot(self, buffer: Buffer, lines: bool, absent: int) -> list[Any]:
        self._known(buffer)
        buffer.unread = False
        flags = absent | (MODIFIED if buffer.modified else 0)
        flags |= EOL | NO_BYTES if buffer.text == EMPTY else EOL if buffer.text.eol else 0
        shown = list(buffer.text.lines) if lines else None
        return [buffer.bufnr, buffer.tick, flags, "utf-8", shown]

    def _known(self, buffer: Buffer) -> None:
        buffer.watched = buffer.tick, len(buffer.text.lines)

    def _save(self, buffer: Buffer) -> None:
        file = Path(buffer.path)
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = file.with_name(f"{file.name}~{os.getpid()}")  # a kill leaves no torn file
        whole.write_text(str(buffer.text), newline="")
        if file.exists():
            whole.chmod(file.stat().st_mode)
        buffer.stamp = signature_of(str(whole))  # another process may write the file right after
        buffer.accepted = buffer.stamp
        whole.replace(file)
        buffer.modified = buffer.is_new = buffer.lacks_save = False

    def _flush(self, buffer: Buffer, undone: bool = False) -> None:
        if buffer.watched is None:
            return
        tick, count = buffer.watched
        self._known(buffer)
        args = {"path": buffer.path, "bufnr": buffer.bufnr, "tick_before": tick}
        args |= {"tick": buffer.tick, "first": 0, "last": count, "lines": list(buffer.text.lines)}
        args |= {"eol": buffer.text.eol, "is_modified": buffer.modified}
        args |= {"is_undo": undone or None}
        self.send_verb("edited", args)
