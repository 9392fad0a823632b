"""Ports of the workspace: the editor's buffers, agents' sessions and tool calls, the view."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypeVar

import msgspec

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes.file_format import FILEENCODINGS, FILEFORMATS, Format
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.bytes.paths import Place

S_contra = TypeVar("S_contra", contravariant=True)

Save = Literal["auto", "always", "never"]
Unsaved = Literal["attach", "save", "ask", "ignore"]


class FileOptions(msgspec.Struct):
    """Options of the workspace: `files.*`, `limits.message_bytes`, `checkpoints`, `blame`."""

    outside: Literal["ask", "deny", "allow"] = "ask"
    secret: Sequence[str] = ()
    save: Save = "auto"
    autocmds: bool = True
    message_bytes: int = 64 * 1024 * 1024
    executed: Sequence[str] = ()
    checkpoints: bool = True
    unsaved: Unsaved = "attach"
    stores: Mapping[str, Sequence[str]] = {}
    """Globs of each agent's own files (`agents.*.store`), by name of the agent."""
    blame: bool = False


class BufferText(msgspec.Struct, frozen=True):
    """A loaded buffer at changedtick `tick`.

    `raw` has bytes that are not UTF-8 as lone surrogates. `text` has a valid character in place
    of each, and is the same object if there are none.
    """

    bufnr: int
    tick: int
    raw: Text
    text: Text
    is_modified: bool = False
    format: Format = Format()
    is_stale: bool = False
    """Whether the buffer is clean but may differ from the file.

    Neovim cannot reload the buffer now, because the command-line window is open.
    """
    is_file_missing: bool = False
    """Whether the file did not exist when the buffer was read."""
    is_new: bool = False
    """Whether the file did not exist when the buffer was created either (`:edit new.txt`)."""

    @property
    def is_absent(self) -> bool:
        """Return whether there is neither a file nor unsaved text."""
        return self.is_file_missing and not self.is_modified

    @property
    def is_void(self) -> bool:
        """Return whether the buffer is empty and unmodified.

        The bytes of the file determine its format then.
        """
        return not self.is_modified and self.raw == EMPTY


class NotLoaded(msgspec.Struct, frozen=True):
    """Result for a file that no buffer has loaded, with options for decoding it."""

    fileencodings: str = FILEENCODINGS
    fileformats: str = FILEFORMATS
    reason: str = ""
    """Reason that the file could not be loaded, or an empty string if that was not tried."""
    is_name_taken: bool = False
    """Whether a buffer without a file has this name, or the path now leads to another file.

    In both cases, the file must not be written.
    """
    is_busy: bool = False
    """Whether Neovim is reading the file into a buffer, which is empty until then."""


class BufferEdit(msgspec.Struct, frozen=True):
    """Change to a watched buffer, or a request to read it again.

    `lines` replace rows [first, last), 0-based.
    """

    path: str
    bufnr: int
    tick_before: int = 0
    """The changedtick before the change."""
    tick: int = 0
    first: int = 0
    last: int = 0
    lines: Sequence[str] = ()
    eol: bool = True
    is_modified: bool = False
    is_undo: bool = False
    """Whether the change includes an undo or redo."""
    is_reload: bool = False
    """Whether the editor has read the file again."""
    is_unload: bool = False
    """Whether the buffer's text was unloaded."""
    was_modified: bool = False
    """Whether the unloaded buffer had unsaved changes, which are lost."""


class BufferChange(msgspec.Struct, frozen=True):
    """A change to make to a buffer, all or nothing."""

    hunks: Sequence[Hunk]
    eol: bool
    """Whether the new text ends with a newline."""
    is_empty: bool
    """Whether the file is to have no bytes at all (a buffer always has a line)."""
    save: Save
    autocmds: bool
    is_fresh: bool
    """Whether the buffer was loaded just now, so it has no edits by the user."""
    is_synced: bool = False
    """Whether a stale buffer was compared with the file and has the same text."""
    set_modified: bool = False
    """Whether to mark the buffer modified unless it is saved, even if nothing changes."""
    is_cancellable: bool = False
    """Whether the outcome is `moved` while the user's cancel of a turn is on its way."""
    verify: Place | None = None
    """The file to verify after the save, or None to skip that."""
    rights: Rights | None = None
    """Rights of a file that the save creates again."""


class WriteResult(msgspec.Struct, frozen=True):
    """Result of a change. `live` is the buffer afterwards, None if it was not touched.

    `moved`: buffer or file changed before the change was made. `busy`: Neovim allows no edit
    now, or the user has to finish first. All other outcomes except `done` are refusals, and leave
    the buffer as it is.
    """

    outcome: Literal["done", "moved", "busy", "readonly", "conflict", "directory", "failed"]
    reason: str = ""
    is_saved: bool = False
    live: BufferText | None = None
    is_verified: bool = True
    """False if the file was read again and does not contain the saved text."""
    is_unloaded: bool = False
    """Whether one of the user's autocommands unloaded the buffer after it was saved."""
    requested: Text | None = None
    """The requested text, if it was written. `live` differs if an autocommand changed it.

    This is also None if the user has unloaded the buffer since.
    """


class Buffers(Protocol):
    """The editor's buffers. No method prompts, opens a window or moves the focus."""

    async def read(self, place: Place, known: BufferText | None = None) -> BufferText | NotLoaded:
        """Return the loaded buffer of a file. Reload a clean one first if its file has changed.

        `known` is an earlier state. Its text is not sent again.
        """
        ...

    async def load(self, place: Place, file_format: Format | None = None) -> BufferText | NotLoaded:
        """Return the buffer of a file. Load it into a hidden, listed buffer if it is not loaded.

        `file_format` is the known format of the file.
        """
        ...

    async def glance(self, place: Place) -> tuple[BufferText | NotLoaded, str | None]:
        """Return the buffer of a file without reloading it.

        While turns run, also return the file's signature when the editor last read or wrote it.
        """
        ...

    async def write(self, place: Place, live: BufferText, change: BufferChange) -> WriteResult:
        """Apply a change as one undo step and save it, if the buffer still equals `live`."""
        ...

    async def follow_disk(
        self,
        live: BufferText,
        hunks: Sequence[Hunk],
        after: Text,
        modified: bool,
        signature: str | None,
        unmerged: bool,
    ) -> WriteResult:
        """Apply a change in the file on disk to its buffer, without saving.

        `signature` is the file's. `modified` is true if unsaved edits remain. If they are
        `unmerged` with an earlier change, Neovim still asks before it overwrites the file.
        """
        ...

    async def obstacles(self, paths: Sequence[str], save: Save) -> dict[str, str]:
        """Return why files (real paths) cannot be written and saved by this policy.

        Reasons are write protection and 'nomodifiable'. Files that can be written are left out.
        """
        ...

    async def mark_unmerged(self, path: str) -> None:
        """Make Neovim ask before it overwrites a file whose unsaved text lacks a change.

        Neovim remembers that when the host is restarted.
        """
        ...

    async def mark_conflict(self, live: BufferText, unmerged: bool) -> None:
        """Mark buffer and file as in conflict.

        Stop warnings about the file's current state, unless they are `unmerged` (`follow_disk`).
        """
        ...

    async def set_format(self, live: BufferText, file_format: Format) -> None: ...

    async def vacate(self, path: str, live: BufferText) -> None:
        """Empty the buffer of a deleted file, and unload it unless a window shows it.

        A buffer that has changed since `live`, or belongs to another file now, is left alone.
        """
        ...

    async def unsaved(self) -> dict[str, Text]:
        """Return the texts of all unsaved buffers by path, or none if the editor is closing."""
        ...

    async def announce(self, roots: Sequence[str]) -> None:
        """Announce the directories in which agents work. The editor reports each save there."""
        ...


class AgentSession(Protocol):
    """A session of an agent, as the workspace sees it."""

    @property
    def n(self) -> int:
        """Return the host's number of the session."""
        ...

    @property
    def key(self) -> str:
        """Return a name that is unique among the sessions of all agents, whose ids may collide."""
        ...

    @property
    def id(self) -> str:
        """Return the agent's id of the session, or an empty string if it has none yet."""
        ...

    @property
    def agent(self) -> str:
        """Return the name of the session's agent."""
        ...

    @property
    def title(self) -> str | None: ...

    @property
    def cwd(self) -> str:
        """Return the session's directory, absolute."""
        ...

    @property
    def directories(self) -> Sequence[str]:
        """Return the additional directories that the agent may use."""
        ...

    @property
    def roots(self) -> Sequence[str]:
        """Return all directories that the agent may use: `cwd` and the additional ones."""
        ...

    @property
    def worktree(self) -> Mapping[str, str] | None:
        """Return path and branch of the session's own git worktree, if it has one."""
        ...

    @property
    def is_running(self) -> bool:
        """Return whether a turn is running or being cancelled."""
        ...

    @property
    def is_cancelling(self) -> bool:
        """Return whether a turn is being cancelled."""
        ...

    @property
    def cancels(self) -> int:
        """Return how often the user has cancelled a turn of the session."""
        ...

    @property
    def is_over(self) -> bool:
        """Return whether the session is closed or has failed."""
        ...


class Amendments(Protocol[S_contra]):
    """The user's changes to proposed edits, applied to the agent's writes."""

    def apply(self, session: S_contra, real: str, text: Text) -> Text:
        """Return the text to write instead of `text`. A write may call this more than once."""
        ...

    def on_written(self, session: S_contra, real: str) -> None:
        """Record that the write is done and its edits are pending."""
        ...

    async def on_turn_end(self, session: S_contra, scan: Callable[[str], Awaitable[None]]) -> None:
        """End the session's turn. `scan` reads the latest changes to a file by agents."""
        ...


class SessionInfo(msgspec.Struct, frozen=True, array_like=True):
    """Description of a session with edits or checkpoints for other Neovims."""

    agent: str = ""
    title: str = ""
    cwd: str = ""
    directories: list[str] = []
    id: str = ""
    """The agent's id of the session."""


class OtherSessions(Protocol):
    """Sessions of other or earlier Neovims that have edits in this workspace."""

    def number_of(self, key: str, info: SessionInfo) -> int:
        """Return the host's number of a session. `key` is its name in all processes."""
        ...

    def follow(self, root: str, folder: str) -> None:
        """Watch this folder of the workspace with this root, and report its changes."""
        ...


class PromptName(msgspec.Struct, frozen=True, array_like=True):
    """Name of a prompt that is valid in all processes."""

    session: str
    """Name of the session in the history."""
    agent: str
    id: str
    """The agent's id of the session."""
    sent: float
    """Seconds since 1970."""
    number: int
    """Number of the prompt in its session, from 1, or 0 if not known."""
    words: str
    """Beginning of the prompt."""


class Authorship(Protocol):
    """Recorder of the authors of lines. It is called only if option `blame` is set."""

    def on_write(
        self,
        session: AgentSession,
        path: str,
        before: Text | None,
        agents_text: Text,
        after: Text,
    ) -> None:
        """Record that an agent changed `before` to `agents_text`.

        Differences between `agents_text` and `after` are the user's.
        """
        ...

    def on_move(self, session: AgentSession, old: str, new: str) -> None:
        """Record that an agent moved a file. Its lines keep their authors."""
        ...

    def prompt(self, session: AgentSession) -> PromptName | None:
        """Return the current prompt of a session's agent, or None if it is not recorded."""
        ...

    def on_adopt(self, prompt: PromptName, path: str, before: Text | None, after: Text) -> None:
        """Record a change by an agent whose process was killed before the change was recorded."""
        ...


class ToolCall(Protocol):
    """Tool call of an agent. Calls are compared by identity."""

    @property
    def is_finished(self) -> bool: ...

    def __hash__(self) -> int: ...


EarlierEdits = dict[str, Pending | None]
"""Pending edits of files before another Neovim's changes were applied."""

Claim = Callable[[Sequence[str]], AbstractAsyncContextManager[EarlierEdits]]
"""Function that holds the lock for decisions on files, or on all files in workspaces.

It yields the earlier pending edits of files that another Neovim has changed. It raises BusyError.
"""


class BusyError(Exception):
    """Another Neovim holds the journal."""


class View(Protocol):
    """View of changed files. No method waits."""

    def hunks(self, path: str, entry: Pending | None, tick: int | None) -> None:
        """Show the hunks of a file, if any. `tick` is the changedtick of their rows."""
        ...

    def pending(self, paths: Sequence[str]) -> None:
        """Show the list of files with pending edits."""
        ...

    def next_hunk(self, place: tuple[str, int] | None) -> None:
        """Move to the next hunk (path and 0-based row) after a decision, if one is left."""
        ...

    def summary(
        self, session: AgentSession, entries: Sequence[Pending], *, silent: bool = False
    ) -> None:
        """Show the pending files of a session, without an event if `silent`."""
        ...

    def report_edit(
        self, session: AgentSession, path: str, kind: str, source: str, conflict: bool
    ) -> None:
        """Report that an agent changed a file (event `AcpEdit`)."""
        ...

    def checkpoints(self, session: AgentSession, labels: Mapping[int, str]) -> None:
        """Show the checkpoints of a session, by number of their prompt."""
        ...

    def warn(self, session: AgentSession, text: str) -> None:
        """Warn in the session that something is not reviewed or not stored."""
        ...

    def inform(self, session: AgentSession, text: str) -> None: ...

    def notice(self, text: str) -> None:
        """Warn outside of any session."""
        ...

    def echo(self, text: str) -> None: ...
