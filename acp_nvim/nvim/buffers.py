"""Implementation of the workspace's port `Buffers`, over the bridge.

Each operation is one Lua call. A read transfers the text only if its changedtick has changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import anyio
import msgspec
from anyio import to_thread

from acp_nvim.edits.hunks import Hunk, apply, diff
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes.disk import contains_saved, saved_bytes
from acp_nvim.files.bytes.file_format import Format, clean
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.ports import BufferChange, BufferText, NotLoaded, Save, WriteResult
from acp_nvim.nvim.async_calls import Caller
from acp_nvim.nvim.bridge import NvimError

MODULE: Final = "acp.buffers.live"
DISK_CHANGES: Final = "acp.buffers.disk_changes"
HOST: Final = "acp.base.host"
MAX_BLOCKED_S: Final = 0.3
"""Maximum seconds to wait for an answer about cancels.

Neovim does not answer while it waits for a key, but the user cannot cancel then either.
"""
EOL, MODIFIED, DOS, BOMB, NO_BYTES, STALE, MAC, BINARY = 1, 2, 4, 8, 16, 32, 64, 128
GONE, NEW = 256, 512


class NvimBuffers:
    """Loaded buffers of Neovim."""

    def __init__(self, bridge: Caller) -> None:
        self._bridge = bridge
        self._session_roots: dict[int, list[str]] = {}
        """Directories of sessions that were sent to Neovim, by the number of the session."""
        self._announced: list[str] = []
        """Directories of running turns that were last sent to Neovim."""
        self._cancels = 0
        """Number of the last handled verb that may have cancelled a turn."""
        self._expected = 0
        """Number of the last prompt whose turn Neovim expects."""

    def on_verb(self, args: Mapping[str, Any]) -> None:
        """Record that a verb was handled, since it may have cancelled a turn.

        Options that are queued while the host starts have a lower number than verbs handled before
        them.
        """
        self._cancels = max(self._cancels, args.get("cancels", 0))

    async def wait_for_cancels(self) -> None:
        """Wait until the host has handled the cancels that Neovim has sent."""
        with anyio.move_on_after(MAX_BLOCKED_S):
            while await self._bridge.call(HOST, "is_cancelling", self._cancels):
                pass

    async def read(self, place: Place, known: BufferText | None = None) -> BufferText | NotLoaded:
        bufnr, tick = (known.bufnr, known.tick) if known else (0, 0)
        answer = await self._bridge.call(MODULE, "read", place.path, place.real, bufnr, tick)
        return _buffer_in(answer, known)

    async def load(self, place: Place, file_format: Format | None = None) -> BufferText | NotLoaded:
        encodings = () if file_format is None else (_fileencodings(file_format),)
        answer = await self._bridge.call(MODULE, "load", place.path, place.real, *encodings)
        return _buffer_in(answer)

    async def glance(self, place: Place) -> tuple[BufferText | NotLoaded, str | None]:
        answer = await self._bridge.call(DISK_CHANGES, "peek", place.path, place.real)
        signature = answer[5] if answer[0] and len(answer) > 5 else None
        return _buffer_in(answer), signature

    async def follow_disk(
        self,
        live: BufferText,
        hunks: Sequence[Hunk],
        after: Text,
        modified: bool,
        signature: str | None,
        unmerged: bool,
    ) -> WriteResult:
        """Apply a change in the file on disk to its buffer.

        Neovim then does not ask before it overwrites the file, unless the unsaved edits are
        `unmerged` with an earlier change.
        """
        want = {"eol": after.eol, "empty": after == EMPTY}
        want |= {"modified": modified, "unmerged": unmerged}
        rows = _rows(hunks)
        args = live.bufnr, live.tick, rows, want, signature
        answer = await self._bridge.call(DISK_CHANGES, "merge_change", *args)
        outcome, why, snapshot = [*answer, None, None][:3]
        return WriteResult(outcome, why or "", False, None if snapshot is None else _text(snapshot))

    async def write(self, place: Place, live: BufferText, change: BufferChange) -> WriteResult:
        want: dict[str, Any] = {
            "eol": change.eol,
            "empty": change.is_empty,
            "save": change.save,
            "autocmds": change.autocmds,
            "fresh": change.is_fresh,
            "synced": change.is_synced,
            "real": place.real,
        }
        if change.set_modified and change.save == "never":
            want["modified"] = True
        if change.is_cancellable:
            want["cancels"] = self._cancels
        if change.rights is not None:
            want["rights"] = msgspec.structs.asdict(change.rights)
        writing = self._bridge.call(
            MODULE, "write", live.bufnr, live.tick, _rows(change.hunks), want
        )
        # Neovim needs some milliseconds, in which the text and bytes to expect are computed.
        requested = Text(tuple(apply(live.raw.lines, change.hunks)), change.eol)
        expected = None if change.verify is None else saved_bytes(requested, live.format)
        outcome, why, saved, answer, stamp, gone = [*await writing, *[None] * 5][:6]
        if answer is None:
            return WriteResult(outcome, why or "")
        if outcome == "done":
            after = _text(answer, requested)
            is_verified = True
            if change.verify is not None and stamp is not None:  # later events have newer texts
                is_same = after.raw is requested and after.format == live.format
                encoded = expected if is_same else None
                verify = partial(contains_saved, change.verify, after, stamp, encoded)
                is_verified = await to_thread.run_sync(verify)
            text = after.text if after.raw is requested else clean(requested)
            return WriteResult("done", "", bool(saved), after, is_verified, bool(gone), text)
        restored = await self._restore_lines(live, _text(answer))
        return WriteResult(outcome, why or "", False, restored)

    async def obstacles(self, paths: Sequence[str], save: Save) -> dict[str, str]:
        reasons: dict[str, str] = await self._bridge.call(MODULE, "obstacles", list(paths), save)
        return reasons

    async def mark_unmerged(self, path: str) -> None:
        with suppress(NvimError):  # Neovim is closing
            await self._bridge.call(DISK_CHANGES, "mark_unmerged", path)

    async def mark_conflict(self, live: BufferText, unmerged: bool) -> None:
        await self._bridge.call(DISK_CHANGES, "mark_conflict", live.bufnr, unmerged)

    async def set_format(self, live: BufferText, file_format: Format) -> None:
        options = {
            "fileencoding": file_format.encoding,
            "bomb": file_format.bomb,
            "fileformat": file_format.fileformat,
        }
        await self._bridge.call(DISK_CHANGES, "set_format", live.bufnr, options)

    async def vacate(self, path: str, live: BufferText) -> None:
        await self._bridge.call(DISK_CHANGES, "vacate", live.bufnr, live.tick, path)

    async def unsaved(self) -> dict[str, Text]:
        try:
            texts = await self._bridge.call(DISK_CHANGES, "unsaved")
        except NvimError:
            return {}  # Neovim is closing
        return texts_of(texts) or {}

    async def save(self, paths: Sequence[str]) -> dict[str, str]:
        """Save these buffers, running autocommands. Return the reasons for failures by path."""
        return dict(await self._bridge.call(DISK_CHANGES, "save", list(paths)))

    async def announce(self, roots: Sequence[str]) -> None:
        if list(roots) == self._announced:
            return
        self._announced = list(roots)
        with suppress(NvimError):  # Neovim is closing
            await self._bridge.call(DISK_CHANGES, "set_turns", list(roots), self._expected)

    def send_session_roots(self, n: int, roots: Sequence[str]) -> None:
        """Send the directories of a session's turns to Neovim, if they have changed."""
        if self._session_roots.get(n) != list(roots):
            self._session_roots[n] = list(roots)
            self._bridge.call_nowait(DISK_CHANGES, "set_session_roots", n, list(roots))

    def expect_turn(self, n: int, number: int) -> None:
        """Record that Neovim expects the turn of prompt `number` and needs no announcement."""
        self._expected = number
        self._announced = sorted({*self._announced, *self._session_roots.get(n, ())})

    async def _restore_lines(self, before: BufferText, now: BufferText) -> BufferText:
        """Write the old lines into a buffer if an undo did not restore them. Return the buffer."""
        hunks = diff(now.raw.lines, before.raw.lines)
        if not hunks:
            return now
        eol = before.raw.eol
        want = {"eol": eol, "empty": before.raw == EMPTY, "modified": before.is_modified}
        answer = await self._bridge.call(MODULE, "write", now.bufnr, now.tick, _rows(hunks), want)
        return _text(answer[3], before.raw) if len(answer) > 3 else now


def _fileencodings(file_format: Format) -> str:
    return "ucs-bom," * file_format.bomb + file_format.encoding


def texts_of(answer: Any) -> dict[str, Text] | None:
    """Return the texts in an answer from Lua by path, or None if it has none."""
    if answer is None:
        return None
    return {file["path"]: Text(tuple(file["lines"]), bool(file["eol"])) for file in answer}


def _rows(hunks: Sequence[Hunk]) -> list[tuple[int, int, tuple[str, ...]]]:
    """Return hunks in the form for Lua: first row, end row, new lines."""
    return [(hunk.start, hunk.end, hunk.lines) for hunk in hunks]


def _buffer_in(answer: list[Any], known: BufferText | None = None) -> BufferText | NotLoaded:
    """Return the buffer in an answer from Lua, which omits the lines if `known` has them."""
    if answer[0] == 0:
        why, is_name_taken, is_busy = [*answer[3:], None, None, None][:3]
        return NotLoaded(answer[1], answer[2], why or "", bool(is_name_taken), bool(is_busy))
    if known is not None and (answer[0], answer[1]) == (known.bufnr, known.tick):
        return _with_options(known, answer)
    return _text(answer)


def _text(answer: list[Any], expected: Text = EMPTY) -> BufferText:
    """Return the buffer in a snapshot from Lua. If it has no lines, use the expected text."""
    bufnr, tick, flags, encoding, lines = [*answer, None][:5]
    raw = expected
    if lines is not None or expected.eol != _has_eol(flags):
        raw = Text(expected.lines if lines is None else tuple(lines), _has_eol(flags))
    return _buffer(bufnr, tick, flags, encoding, raw, clean(raw))


def _with_options(known: BufferText, answer: list[Any]) -> BufferText:
    """Return the known buffer with its current options, or the same object if nothing changed."""
    bufnr, tick, flags, encoding = answer[:4]
    raw, text = known.raw, known.text
    if raw.eol != _has_eol(flags):
        raw = Text(raw.lines, _has_eol(flags))
        text = clean(raw)
    fresh = _buffer(bufnr, tick, flags, encoding, raw, text)
    return known if fresh == known else fresh


def _has_eol(flags: int) -> bool:
    return bool(flags & EOL) and not flags & NO_BYTES


def _buffer(bufnr: int, tick: int, flags: int, encoding: str, raw: Text, text: Text) -> BufferText:
    dos, mac, bomb, binary = (bool(flags & flag) for flag in (DOS, MAC, BOMB, BINARY))
    return BufferText(
        bufnr,
        tick,
        raw,
        text,
        is_modified=bool(flags & MODIFIED),
        format=Format(encoding or "utf-8", bomb, dos, mac, binary),
        is_stale=bool(flags & STALE),
        is_file_missing=bool(flags & GONE),
        is_new=bool(flags & NEW),
    )
