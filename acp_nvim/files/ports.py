"""The ports of the workspace: an editor's buffers, sessions and tool calls of agents, the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

import msgspec

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes.file_format import FILEENCODINGS, FILEFORMATS, Format
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.bytes.paths import Place

Save = Literal["auto", "always", "never"]
Unsaved = Literal["attach", "save", "ask", "ignore"]


class FileOptions(msgspec.Struct):
    """Options `files.*`, `limits.message_bytes`, `checkpoints`, `blame`; read anew for every
    request.
    """

    outside: Literal["ask", "deny", "allow"] = "ask"
    secret: Sequence[str] = ()
    save: Save = "auto"
    autocmds: bool = True
    message_bytes: int = 64 * 1024 * 1024
    executed: Sequence[str] = ()
    checkpoints: bool = True
    unsaved: Unsaved = "attach"
    stores: Mapping[str, Sequence[str]] = {}
    """Globs of the files that each agent keeps for itself (`agents.*.store`), by its name."""
    blame: bool = False


class BufferText(msgspec.Struct, frozen=True):
    """A loaded buffer as it was at changedtick ``tick``.

    ``raw`` holds bytes that are not UTF-8 as lone surrogates. ``text`` is fit for JSON, character
    by character beside ``raw``, and the same object when there are none.
    """

    bufnr: int
    tick: int
    raw: Text
    text: Text
    modified: bool = False
    format: Format = Format()
    stale: bool = False
    """Clean, but perhaps not as its file is: Neovim could not reload it (command-line window)."""
    gone: bool = False
    """There was no such file when the buffer was read."""
    new: bool = False
    """There was none when the buffer was made either: a new file (`:edit new.txt`)."""

    @property
    def absent(self) -> bool:
        """Whether there is neither a file nor unsaved text."""
        return self.gone and not self.modified

    @property
    def is_void(self) -> bool:
        """Whether it holds nothing, not even unsaved edits: a file's bytes say what it is to be."""
        return not self.modified and self.raw == EMPTY


class Closed(msgspec.Struct, frozen=True):
    """No loaded buffer serves the file; the options by which Neovim would decode it."""

    fileencodings: str = FILEENCODINGS
    fileformats: str = FILEFORMATS
    why: str = ""
    """Why it could not be loaded; empty when nobody tried."""
    taken: bool = False
    """A buffer has that name and is no file's: nothing may be written past it."""


class BufferEdit(msgspec.Struct, frozen=True):
    """A change of a watched buffer: these rows (0-based, the last one exclusive) are ``lines`` now,
    or the buffer has to be read again.
    """

    path: str
    bufnr: int
    base: int = 0
    """The changedtick before that."""
    tick: int = 0
    first: int = 0
    last: int = 0
    lines: Sequence[str] = ()
    eol: bool = True
    modified: bool = False
    undone: bool = False
    """By undo or redo."""
    reloaded: bool = False
    """The editor has read the file again."""
    detached: bool = False
    """The buffer's text is given up."""
    unsaved: bool = False
    """... and with it unsaved changes."""


class Change(msgspec.Struct, frozen=True):
    """A change to make to a buffer, all or nothing."""

    hunks: Sequence[Hunk]
    eol: bool
    """Whether the text ends with a newline afterwards."""
    empty: bool
    """Whether the file is to have no byte at all (a buffer always has a line)."""
    save: Save
    autocmds: bool
    fresh: bool
    """We have just loaded the buffer: unsaved text in it is nobody's edit."""
    synced: bool = False
    """A stale buffer was compared with its file and holds the same text."""
    unsaved: bool = False
    """Mark the buffer modified unless it is saved, also where nothing changes."""
    verify: Place | None = None
    """The file to read again after the save; None: it is not verified."""
    rights: Rights | None = None
    """The rights for a file that the save makes again."""


class Written(msgspec.Struct, frozen=True):
    """Result of a change. ``live`` is the buffer afterwards, None when it was not touched.

    ``moved``: buffer or file have changed since the change was made. ``busy``: Neovim
    allows no edit right now, or the user has to finish first. The others but ``done`` refuse; the
    buffer is as it was.
    """

    outcome: Literal["done", "moved", "busy", "readonly", "conflict", "directory", "failed"]
    why: str = ""
    saved: bool = False
    live: BufferText | None = None
    held: bool = True
    """False where the file was read again and does not hold the saved text."""
    gone: bool = False
    """The buffer was saved, and an autocommand of the user has put it away since."""
    asked: Text | None = None
    """The text that Neovim was to write. ``live`` differs if an autocommand changed it. None if the
    buffer was not known at the end.
    """


class Buffers(Protocol):
    """The editor's buffers. No method prompts, opens a window or moves the focus."""

    async def read(self, place: Place) -> BufferText | Closed:
        """The loaded buffer of a file; a clean one is brought up to date with it first."""
        ...

    async def load(self, place: Place, file_format: Format | None = None) -> BufferText | Closed:
        """The same, loading the file into a hidden, listed buffer where there is none.

        ``file_format`` is how the file is known to be encoded.
        """
        ...

    async def glance(self, place: Place) -> tuple[BufferText | Closed, str | None]:
        """The buffer of a file as it is, not brought up to date with it; while turns run also the
        file's signature when the editor last read or wrote it.
        """
        ...

    async def write(self, place: Place, live: BufferText, change: Change) -> Written:
        """Apply a change as one undo step and save, if the buffer is still as in ``live``."""
        ...

    async def take(
        self,
        live: BufferText,
        hunks: Sequence[Hunk],
        after: Text,
        modified: bool,
        signature: str | None,
    ) -> Written:
        """Enter a change of the file on disk, which has this signature, into its buffer. Nothing is
        saved. ``modified``: whether unsaved edits are left.
        """
        ...

    async def obstacles(self, paths: Sequence[str], save: Save) -> dict[str, str]:
        """Why files (real paths) cannot be written and saved by this policy: write-protected, not
        'modifiable'. Those that can be are left out.
        """
        ...

    async def mark_conflict(self, live: BufferText) -> None:
        """Buffer and file are in conflict; Neovim does not warn of the file as it is now."""
        ...

    async def set_format(self, live: BufferText, file_format: Format) -> None:
        """Set the format in which the editor writes the buffer."""
        ...

    async def vacate(self, live: BufferText) -> None:
        """The file is gone: its buffer is emptied, and gone unless a window shows it. One that has
        changed since ``live`` stays as it is.
        """
        ...

    async def unsaved(self) -> dict[str, Text]:
        """The texts of all buffers with unsaved edits, by path; none when the editor is closing."""
        ...

    async def announce(self, roots: Sequence[str]) -> None:
        """Agents are at work in these directories: the editor reports each save there."""
        ...


class AgentSession(Protocol):
    """One session of an agent, as the workspace knows it."""

    @property
    def n(self) -> int:
        """Our number of the session."""
        ...

    @property
    def key(self) -> str:
        """Names the session among those of all agents, whose ids on the wire may be the same."""
        ...

    @property
    def id(self) -> str:
        """The agent's id of the session; empty as long as there is none."""
        ...

    @property
    def agent(self) -> str:
        """The name of its agent."""
        ...

    @property
    def title(self) -> str | None:
        """What it is called, once it is."""
        ...

    @property
    def cwd(self) -> str:
        """Its directory, absolute."""
        ...

    @property
    def directories(self) -> Sequence[str]:
        """The additional ones that the agent may use."""
        ...

    @property
    def roots(self) -> Sequence[str]:
        """The directories the agent may use: `cwd` and the additional ones."""
        ...

    @property
    def is_running(self) -> bool:
        """Whether a turn runs, or is being cancelled."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether it is closed, or has failed."""
        ...


class SessionInfo(msgspec.Struct, frozen=True, array_like=True):
    """What one Neovim tells others of a session that has edits or checkpoints."""

    agent: str = ""
    title: str = ""
    cwd: str = ""
    directories: list[str] = []
    id: str = ""
    """The agent's."""


class OtherSessions(Protocol):
    """Shows what sessions of other Neovims, or of earlier ones, have in this workspace."""

    def take_up(self, key: str, info: SessionInfo) -> int:
        """Our number for a session from now on; ``key`` names it in all processes."""
        ...

    def follow(self, root: str, folder: str) -> None:
        """Tell of changes in this folder, that of the workspace with this root, from now on."""
        ...


class PromptName(msgspec.Struct, frozen=True, array_like=True):
    """A prompt that an agent works on, as it is named in all processes."""

    session: str
    """The session's name in the history."""
    agent: str
    id: str
    """The agent's of the session."""
    sent: float
    """In seconds since 1970."""
    number: int
    """1 for the session's first; 0: none is known."""
    words: str
    """How it begins."""


class Authorship(Protocol):
    """Keeps who wrote the lines of files. It is told only where option `blame` is set."""

    def wrote(
        self, session: AgentSession, path: str, before: Text | None, agents: Text, after: Text
    ) -> None:
        """An agent has made ``agents`` of ``before``; what differs in ``after`` is the user's."""
        ...

    def moved(self, session: AgentSession, old: str, new: str) -> None:
        """An agent has moved a file: its lines stay whose they are."""
        ...

    def prompt(self, session: AgentSession) -> PromptName | None:
        """What a session's agent works on; None where nothing is kept of it."""
        ...

    def adopted(self, prompt: PromptName, path: str, before: Text | None, after: Text) -> None:
        """An agent has made ``after`` of ``before``, and its process was killed over that."""
        ...


class ToolCall(Protocol):
    """One tool call of an agent; compared by identity."""

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        ...

    def __hash__(self) -> int: ...


Seen = dict[str, Pending | None]
"""The pending edits of files before another Neovim's changes were taken over."""

Claim = Callable[[Sequence[str]], AbstractAsyncContextManager[Seen]]
"""Be the only Neovim that decides edits of these files, or of those in the workspaces of these
directories; gives what the user saw of those that another one has changed. BusyError.
"""


class BusyError(Exception):
    """Another Neovim holds the journal."""


class View(Protocol):
    """Shows changes of files. No method waits."""

    def hunks(self, path: str, entry: Pending | None, tick: int | None) -> None:
        """A file's hunks (None: it has none any more); ``tick``: the changedtick of their rows."""
        ...

    def pending(self, paths: Sequence[str]) -> None:
        """The files with pending edits."""
        ...

    def next_hunk(self, place: tuple[str, int] | None) -> None:
        """Where to go on after a decision: path and 0-based row; None: nothing is left."""
        ...

    def summary(
        self, session: AgentSession, entries: Sequence[Pending], *, silent: bool = False
    ) -> None:
        """The pending files of a session; ``silent``: without an event."""
        ...

    def edited(
        self, session: AgentSession, path: str, kind: str, source: str, conflict: bool
    ) -> None:
        """An agent changed a file: event `AcpEdit`."""
        ...

    def checkpoints(self, session: AgentSession, labels: Mapping[int, str]) -> None:
        """The checkpoints of a session, by number of their prompt."""
        ...

    def warn(self, session: AgentSession, text: str) -> None:
        """Something is not reviewed or not stored, and why."""
        ...

    def inform(self, session: AgentSession, text: str) -> None:
        """Put a line into the session's chat."""
        ...

    def notice(self, text: str) -> None:
        """The same as `warn`, of no session."""
        ...

    def tell(self, text: str) -> None:
        """A line for the user."""
        ...
