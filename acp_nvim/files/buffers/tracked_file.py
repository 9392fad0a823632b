"""State of one file that agents and the user share, and its locks.

`FileState` is the known state of the file on disk, `BufferState` the state of its buffer. Both are
values: only `file_after` and the functions of `buffer_state` make new ones. `TrackedFile` has the
current values of one path.

`docs/internals/locks.md` has the order in which locks are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import anyio
import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.buffer_state import BufferState
from acp_nvim.files.bytes.file_format import Format, in_bytes, shows_cr
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.ports import AgentSession

SPARE: Final = 64
"""Number of files with an empty state that are kept before they are dropped."""

Special = tuple[int, bytes]
"""Mode of a link or FIFO, and the target of the link."""


class PostponedChange(msgspec.Struct, frozen=True):
    """Change that could not be applied to the file's buffer yet."""

    session: AgentSession
    at: int
    """Time of the change in nanoseconds."""


class FileState(msgspec.Struct, frozen=True):
    """Known state of a file on disk."""

    disk: Text | UnsetType | None = UNSET
    """Text at the last scan, user's save or editor's write, or None if there was no file."""
    disk_format: Format | None = None
    """Format of that text on disk."""
    compared: str | UnsetType | None = UNSET
    """Signature of the file when it was last found to contain `disk`."""
    saved: str | None = None
    """Signature of the file after the user's last save. Content with this signature is the user's.
    """
    saved_other_bytes: bool = False
    """Whether the last save wrote other bytes: in another encoding, or only a range of lines."""
    saved_idle: bool = False
    """Whether the user saved the file since the last prompt, while no agent was working."""
    neovim_read: Text | None = None
    """Text that Neovim has loaded and no scan has recorded yet."""
    is_author_unknown: bool = False
    """Whether Neovim has read the file again and the author of the change is unknown."""
    last_scan: tuple[int, str | None] | None = None
    """Round of turns, and signature of the file, at the last scan by name."""
    conflict_base: Text | UnsetType | None = UNSET
    """Common ancestor of buffer and file in a conflict, or UNSET if there is no conflict."""
    is_unmerged: bool = False
    """Whether Neovim has to ask before it overwrites the file.

    The buffer's unsaved text lacks a save in another Neovim or a change by the user's git.
    """
    postponed: PostponedChange | None = None
    agent_change_count: int = 0
    """Number of changes by agents."""
    user_format: Format | None = None
    """Format from before the pending changes by agents."""
    agent_format: Format | None = None
    """Format set by an agent, if it differs."""
    rights: Rights | None = None
    """Rights of a deleted file, for its restoration."""
    displaced: Special | None = None
    """Link or FIFO that was removed to restore the file in its place."""
    in_store: bool = False
    """Whether a snapshot store has the content."""

    def disk_bytes(self) -> bytes | None:
        """Return the bytes of `disk`, or None if they are unknown or there is no file."""
        return in_bytes(self.disk, self.disk_format) if isinstance(self.disk, Text) else None

    def byte_forms(self) -> Sequence[bytes]:
        """Return the possible bytes of a file with the text `disk`.

        A BOM or the CRs of line endings may be characters of the text. Then one form does not add
        them.
        """
        data = self.disk_bytes()
        if data is None or not isinstance(self.disk, Text):
            return ()
        plain = self.disk.lines[0].startswith("\ufeff") or shows_cr(self.disk)
        return (data, in_bytes(self.disk, None)) if plain else (data,)

    def has_content(self, data: bytes | None) -> bool:
        """Return whether these bytes of the file are a form of `disk`.

        `data` is None if there is no file.
        """
        return self.disk is None if data is None else data in self.byte_forms()

    def is_unseen_change(self, text: Text | None, signature: str | None) -> bool:
        """Return whether this text differs from the user's save although the signatures are equal.

        Then the file was changed within the same clock tick, and Neovim has not read it since.
        """
        if self.saved != signature or self.saved_other_bytes or self.disk is UNSET:
            return False
        return text not in (self.disk, self.neovim_read)


# -- events: each has the fields of the state that it sets ----------------------------------------


class Saved(msgspec.Struct, frozen=True):
    """Save of the buffer by the user. `disk` is None if the text is not known."""

    disk: Text | None
    disk_format: Format


class SaveSigned(msgspec.Struct, frozen=True):
    """Signature of the file after a save by the user."""

    saved: str
    saved_other_bytes: bool


class SavedIdle(msgspec.Struct, frozen=True):
    """Save by the user while no agent was working. False once the save has been read."""

    saved_idle: bool = True


class ContentKnown(msgspec.Struct, frozen=True):
    """Text that the file was found to contain, or that this plugin wrote to it."""

    disk: Text | None
    disk_format: Format | None


class Compared(msgspec.Struct, frozen=True):
    """Signature with which the file contains the known text."""

    compared: str | None


class Forgotten(msgspec.Struct, frozen=True):
    """Removal of the content from memory. Only the store has it."""

    disk: UnsetType = UNSET
    disk_format: None = None
    compared: UnsetType = UNSET


class Postponed(msgspec.Struct, frozen=True):
    """Failure to apply a change to the buffer for now. The state keeps the text before it."""

    disk: Text | None
    disk_format: Format | None
    postponed: PostponedChange


class CaughtUp(msgspec.Struct, frozen=True):
    """End of a postponed change, which was applied or undone."""

    postponed: None = None


class Scanned(msgspec.Struct, frozen=True):
    """Scan of the file by name."""

    last_scan: tuple[int, str | None]


class AgentChanged(msgspec.Struct, frozen=True):
    """Change to the file by an agent."""


class NeovimRead(msgspec.Struct, frozen=True):
    """Text that Neovim has loaded, or None once a scan has recorded it."""

    neovim_read: Text | None


class AuthorUnknown(msgspec.Struct, frozen=True):
    """Whether the author of the current text is unknown."""

    is_author_unknown: bool


class Conflicted(msgspec.Struct, frozen=True):
    """Conflict between buffer and file, with their common ancestor."""

    conflict_base: Text | None


class ConflictOver(msgspec.Struct, frozen=True):
    """End of a conflict: buffer and file have the same text again."""

    conflict_base: UnsetType = UNSET


class Unmerged(msgspec.Struct, frozen=True):
    """Whether the buffer's unsaved text lacks a change by the user."""

    is_unmerged: bool


class UserFormat(msgspec.Struct, frozen=True):
    """Format of the file before it gets pending changes, or None if not known."""

    user_format: Format | None


class AgentFormat(msgspec.Struct, frozen=True):
    """Format that an agent gave the file."""

    agent_format: Format


class Removed(msgspec.Struct, frozen=True):
    """Deletion of the file, with its rights, or None for a new file's default rights."""

    rights: Rights | None


class Received(msgspec.Struct, frozen=True):
    """State of the file as another process knows it."""

    user_format: Format | None
    agent_format: Format | None
    conflict_base: Text | UnsetType | None
    rights: Rights | None
    displaced: Special | None


class Displaced(msgspec.Struct, frozen=True):
    """Removal of a link or FIFO in place of the file. None means that it was restored."""

    displaced: Special | None


class Stored(msgspec.Struct, frozen=True):
    """Storage of the content in a store."""

    in_store: bool = True


FileEvent = (
    Saved
    | SaveSigned
    | SavedIdle
    | ContentKnown
    | Compared
    | Forgotten
    | Postponed
    | CaughtUp
    | Scanned
    | AgentChanged
    | NeovimRead
    | AuthorUnknown
    | Conflicted
    | ConflictOver
    | Unmerged
    | UserFormat
    | AgentFormat
    | Removed
    | Received
    | Displaced
    | Stored
)


def file_after(state: FileState, event: FileEvent) -> FileState:
    """Return the state of a file after an event."""
    match event:
        case AgentChanged():
            return replace(state, agent_change_count=state.agent_change_count + 1)
        case UserFormat(None):
            return state
        case Saved(None):  # no text yet: the signature marks it as the user's
            return replace(state, **asdict(Forgotten()), saved_other_bytes=True, is_unmerged=False)
        case Saved(text, file_format):
            return replace(
                _with_content(state, text, file_format), conflict_base=UNSET, is_unmerged=False
            )
        case ContentKnown(text, file_format):
            return _with_content(state, text, file_format)
        case Postponed(before, file_format, late):
            return replace(
                _with_content(state, before, file_format), postponed=late, compared=UNSET
            )
        case _:
            return replace(state, **asdict(event))


def _with_content(state: FileState, text: Text | None, file_format: Format | None) -> FileState:
    is_same = state.disk is not UNSET and state.disk == text
    compared = state.compared if is_same and file_format == state.disk_format else UNSET
    known = None if text is None else file_format
    return replace(state, disk=text, disk_format=known, compared=compared)


# -- files ----------------------------------------------------------------------------------------


class TrackedFile:
    """One file, by its real path."""

    __slots__ = ("buffer", "lock", "path", "state", "writers")

    def __init__(self, path: str) -> None:
        self.path = path
        self.state = FileState()
        self.buffer = BufferState()
        self.writers = anyio.Lock()
        """Lock for agents' writes. It is acquired in the order of the requests."""
        self.lock = anyio.Lock()
        """Lock held while the file is read or changed."""

    def apply(self, event: FileEvent) -> None:
        """Update the state of the file."""
        self.state = file_after(self.state, event)

    def set_buffer(self, buffer: BufferState) -> None:
        """Update the state of the file's buffer."""
        self.buffer = buffer

    @property
    def is_busy(self) -> bool:
        """Return whether one of the file's locks is held."""
        return self.lock.locked() or self.writers.locked()


class TrackedFiles:
    """All files with a known state, by real path."""

    def __init__(self) -> None:
        self._files: dict[str, TrackedFile] = {}
        self._limit = SPARE

    def __getitem__(self, path: str) -> TrackedFile:
        """Return the file. Add it with an empty state if it is new."""
        file = self._files.get(path)
        if file is None:
            if len(self._files) >= self._limit:
                self._drop_empty()
            file = self._files[path] = TrackedFile(path)
        return file

    def __iter__(self) -> Iterator[TrackedFile]:
        return iter(list(self._files.values()))

    def state(self, path: str) -> FileState:
        """Return the state of a file, without adding an entry."""
        file = self._files.get(path)
        return file.state if file is not None else NOTHING

    def buffer(self, path: str) -> BufferState:
        """Return the state of a file's buffer, without adding an entry."""
        file = self._files.get(path)
        return file.buffer if file is not None else NO_BUFFER

    def known(self, paths: Iterable[str] | None = None) -> dict[str, FileState]:
        """Return the states of these files, or of all, whose content on disk is known."""
        states = {path: self.state(path) for path in (self._files if paths is None else paths)}
        return {path: state for path, state in states.items() if state.disk is not UNSET}

    def _drop_empty(self) -> None:
        """Drop files with an empty state."""
        self._files = {
            path: file
            for path, file in self._files.items()
            if file.is_busy or file.state != NOTHING or file.buffer != NO_BUFFER
        }
        self._limit = 2 * len(self._files) + SPARE


NOTHING: Final = FileState()
NO_BUFFER: Final = BufferState()
