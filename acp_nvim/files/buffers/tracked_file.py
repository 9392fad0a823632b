"""The state of one file that agents and the user share, and its locks.

`FileState` is the known state of the file on disk, `BufferState` that of its buffer. Both are
values: only `file_after`, `buffer_state.found` and `buffer_state.heard` make new ones.
`TrackedFile` holds the present values of one path.

`docs/internals/locks.md` has the order in which locks are taken.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

import anyio
import msgspec
from msgspec import UNSET, UnsetType

from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.buffer_state import BufferState
from acp_nvim.files.bytes.file_format import Format, in_bytes, shows_cr
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.ports import AgentSession

SPARE: Final = 64
"""How many files with an empty state may wait before they are dropped."""

Special = tuple[int, bytes]
"""The mode of a link or a FIFO, and where the link points to."""


class Late(msgspec.Struct, frozen=True):
    """A change that could not be entered into the file's buffer yet."""

    session: AgentSession
    at: int
    """When it was made, in nanoseconds."""


class FileState(msgspec.Struct, frozen=True):
    """The known state of a file on disk."""

    disk: Text | UnsetType | None = UNSET
    """The text since the last look, the user's and the editor's saves included; None: no file."""
    disk_format: Format | None = None
    """The format of that text on disk."""
    compared: str | UnsetType | None = UNSET
    """The file's signature when it was last found to hold that text."""
    saved: str | None = None
    """The file's signature after the user's last save: with it the content is theirs."""
    saved_other_bytes: bool = False
    """That save wrote other bytes than the text: another encoding, a part of a buffer."""
    saved_idle: bool = False
    """The user saved it while no agent was at work, since the last prompt."""
    neovim_read: Text | None = None
    """The text that Neovim has read by itself, until a look takes it up."""
    unsettled: bool = False
    """Neovim has read it again, and it is not known yet who changed it."""
    last_look: tuple[int, str | None] | None = None
    """The round of turns and the signature in which it was last looked at by name."""
    conflict_base: Text | UnsetType | None = UNSET
    """The common text of buffer and file before their conflict; UNSET: there is none."""
    late: Late | None = None
    agent_change_count: int = 0
    """How often agents have changed it."""
    user_format: Format | None = None
    """The format before agents' pending changes."""
    agent_format: Format | None = None
    """The format that an agent has given it, where that is another one."""
    rights: Rights | None = None
    """Of a file that is gone: when it comes back, it has them again."""
    displaced: Special | None = None
    """The link or FIFO in its place that was removed when it came back."""
    in_store: bool = False
    """A store of snapshots has its content."""

    def disk_bytes(self) -> bytes | None:
        """The bytes of `disk`, as far as the format is known; None where there is no file."""
        return in_bytes(self.disk, self.disk_format) if isinstance(self.disk, Text) else None

    def holds(self, data: bytes | None) -> bool:
        """Whether these bytes are `disk`. A BOM and the CR of line ends may be characters of the
        text, as it was written: then none is added.
        """
        if self.disk is UNSET:
            return False
        if not isinstance(self.disk, Text) or data is None:
            return self.disk is None and data is None
        plain = self.disk.lines[0].startswith("\ufeff") or shows_cr(self.disk)
        return data in (self.disk_bytes(), in_bytes(self.disk, None) if plain else None)


# -- events: their fields are those of the state that they set ------------------------------------


class Saved(msgspec.Struct, frozen=True):
    """The user saved the buffer. ``disk`` is None where the text is not known here."""

    disk: Text | None
    disk_format: Format


class SaveSigned(msgspec.Struct, frozen=True):
    """The signature that a save of the user's has given the file."""

    saved: str
    saved_other_bytes: bool


class SavedIdle(msgspec.Struct, frozen=True):
    """The user saved it while no agent was at work; False: that save has been read."""

    saved_idle: bool = True


class Holds(msgspec.Struct, frozen=True):
    """The file was found to hold this text, or a write of ours has made it so."""

    disk: Text | None
    disk_format: Format | None


class Compared(msgspec.Struct, frozen=True):
    """The file with this signature holds the known text."""

    compared: str | None


class Forgotten(msgspec.Struct, frozen=True):
    """The content is not known any more: only the store has it."""

    disk: UnsetType = UNSET
    disk_format: None = None
    compared: UnsetType = UNSET


class PutOff(msgspec.Struct, frozen=True):
    """A change could not be entered into the buffer yet: the file keeps its state before it."""

    disk: Text | None
    disk_format: Format | None
    late: Late


class CaughtUp(msgspec.Struct, frozen=True):
    """A late change is entered, or undone."""

    late: None = None


class Looked(msgspec.Struct, frozen=True):
    """The file was looked at by name."""

    last_look: tuple[int, str | None]


class AgentChanged(msgspec.Struct, frozen=True):
    """An agent has changed the file."""


class NeovimRead(msgspec.Struct, frozen=True):
    """Neovim has read this text by itself; None: a look has taken it up."""

    neovim_read: Text | None


class Unsettled(msgspec.Struct, frozen=True):
    """It is not known who made the present text; False: it is."""

    unsettled: bool


class Conflicted(msgspec.Struct, frozen=True):
    """Buffer and file are in conflict; this was their common text."""

    conflict_base: Text | None


class ConflictOver(msgspec.Struct, frozen=True):
    """Buffer and file are one text again."""

    conflict_base: UnsetType = UNSET


class UserFormat(msgspec.Struct, frozen=True):
    """The file gets pending changes; this was its format (None: not known)."""

    user_format: Format | None


class AgentFormat(msgspec.Struct, frozen=True):
    """An agent has given the file another format."""

    agent_format: Format


class Removed(msgspec.Struct, frozen=True):
    """The file is gone; it had these rights (None: those of a new file)."""

    rights: Rights | None


class TakenOver(msgspec.Struct, frozen=True):
    """What another process knows of the file."""

    user_format: Format | None
    agent_format: Format | None
    conflict_base: Text | UnsetType | None
    rights: Rights | None
    displaced: Special | None


class Displaced(msgspec.Struct, frozen=True):
    """A link or FIFO in its place was removed, or is back (None)."""

    displaced: Special | None


class Stored(msgspec.Struct, frozen=True):
    """A store has the content."""

    in_store: bool = True


FileEvent = (
    Saved
    | SaveSigned
    | SavedIdle
    | Holds
    | Compared
    | Forgotten
    | PutOff
    | CaughtUp
    | Looked
    | AgentChanged
    | NeovimRead
    | Unsettled
    | Conflicted
    | ConflictOver
    | UserFormat
    | AgentFormat
    | Removed
    | TakenOver
    | Displaced
    | Stored
)


def file_after(state: FileState, event: FileEvent) -> FileState:
    match event:
        case AgentChanged():
            return _changed(state, agent_change_count=state.agent_change_count + 1)
        case UserFormat(None):
            return state
        case Saved(None):  # the text is not here yet: the signature tells that it is the user's
            return _changed(file_after(state, Forgotten()), saved_other_bytes=True)
        case Saved(text, file_format):
            return _changed(_holding(state, text, file_format), conflict_base=UNSET)
        case Holds(text, file_format):
            return _holding(state, text, file_format)
        case PutOff(before, file_format, late):
            return _changed(_holding(state, before, file_format), late=late, compared=UNSET)
        case _:
            return _changed(
                state, **{name: getattr(event, name) for name in event.__struct_fields__}
            )


def _holding(state: FileState, text: Text | None, file_format: Format | None) -> FileState:
    same = state.disk is not UNSET and state.disk == text
    compared = state.compared if same and file_format == state.disk_format else UNSET
    known = None if text is None else file_format
    return _changed(state, disk=text, disk_format=known, compared=compared)


def _changed(state: FileState, **fields: object) -> FileState:
    return msgspec.structs.replace(state, **fields)


# -- the files ------------------------------------------------------------------------------------


class TrackedFile:
    """One file, by its real path."""

    __slots__ = ("_waiting", "buffer", "lock", "path", "state", "writers")

    def __init__(self, path: str) -> None:
        self.path = path
        self.state = FileState()
        self.buffer = BufferState()
        self.writers = anyio.Lock()
        self.lock = anyio.Lock()
        self._waiting = 0

    def hear(self, event: FileEvent) -> None:
        """Something has happened to the file."""
        self.state = file_after(self.state, event)

    def shows(self, buffer: BufferState) -> None:
        """Its buffer is this now."""
        self.buffer = buffer

    @property
    def is_busy(self) -> bool:
        """Whether somebody holds one of its locks, or waits for one."""
        return self._waiting > 0

    @property
    def is_written(self) -> bool:
        """Whether an agent's write is under way, or waits."""
        return self.writers.locked()

    def alone(self) -> AbstractAsyncContextManager[None]:
        """Be the only writer of this file (`lock`)."""
        return self._held(self.lock)

    def in_line(self) -> AbstractAsyncContextManager[None]:
        """Write after all agents' writes that came before (`writers`)."""
        return self._held(self.writers)

    @asynccontextmanager
    async def _held(self, lock: anyio.Lock) -> AsyncIterator[None]:
        self._waiting += 1
        try:
            async with lock:
                yield
        finally:
            self._waiting -= 1


class TrackedFiles:
    """All files with a known state, by real path."""

    def __init__(self) -> None:
        self._files: dict[str, TrackedFile] = {}
        self._limit = SPARE

    def __getitem__(self, path: str) -> TrackedFile:
        """The file; a new one has an empty state."""
        found = self._files.get(path)
        if found is None:
            if len(self._files) >= self._limit:
                self._drop_spare()
            found = self._files[path] = TrackedFile(path)
        return found

    def __iter__(self) -> Iterator[TrackedFile]:
        return iter(list(self._files.values()))

    def state(self, path: str) -> FileState:
        """The state of a file; no entry is made for the question."""
        found = self._files.get(path)
        return found.state if found is not None else NOTHING

    def buffer(self, path: str) -> BufferState:
        """The state of a file's buffer; no entry is made for the question."""
        found = self._files.get(path)
        return found.buffer if found is not None else NO_BUFFER

    def known(self, paths: Iterable[str] | None = None) -> dict[str, FileState]:
        """The files (None: of all) whose content on disk is known."""
        states = ((path, self.state(path)) for path in (self._files if paths is None else paths))
        return {path: state for path, state in states if state.disk is not UNSET}

    def is_busy(self, path: str) -> bool:
        """Whether somebody holds a lock of the file."""
        found = self._files.get(path)
        return found is not None and found.is_busy

    def _drop_spare(self) -> None:
        """Drop files with an empty state."""
        self._files = {
            path: file
            for path, file in self._files.items()
            if file.is_busy or file.state != NOTHING or file.buffer != NO_BUFFER
        }
        self._limit = 2 * len(self._files) + SPARE


NOTHING: Final = FileState()
NO_BUFFER: Final = BufferState()
