"""What files need of an editor: the text of its buffers, and hunks put into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.text import Text
from acp_nvim.workspace.file_format import FILEENCODINGS, FILEFORMATS, Format
from acp_nvim.workspace.nofollow import Rights
from acp_nvim.workspace.paths import Place

Save = Literal["auto", "always", "never"]


class FileOptions(msgspec.Struct):
    """The options `files.*` and `limits.message_bytes`; read anew for every request."""

    outside: Literal["ask", "deny", "allow"] = "ask"
    secret: Sequence[str] = ()
    save: Save = "auto"
    autocmds: bool = True
    message_bytes: int = 64 * 1024 * 1024
    executed: Sequence[str] = ()


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
    """When it was read there was no such file."""
    new: bool = False
    """There was none when the buffer was made: somebody is about to write one (`:edit new.txt`)."""

    @property
    def absent(self) -> bool:
        """Whether there is no such file, and no unsaved text that is to be one."""
        return self.gone and not self.modified


class Closed(msgspec.Struct, frozen=True):
    """No loaded buffer serves the file; the options by which Neovim would decode it."""

    fileencodings: str = FILEENCODINGS
    fileformats: str = FILEFORMATS
    why: str = ""
    """Why it could not be loaded; empty when nobody tried."""
    taken: bool = False
    """A buffer of that name is there and is no file's: nothing may be written past it."""


class Change(msgspec.Struct, frozen=True):
    """What is to be done to a buffer, all or nothing."""

    hunks: Sequence[Hunk]
    eol: bool
    """Whether the text ends with a newline afterwards."""
    empty: bool
    """Whether the file is to have no byte at all (a buffer always has a line)."""
    save: Save
    autocmds: bool
    fresh: bool
    """We loaded the buffer ourselves just now: what is unsaved in it is nobody's edit."""
    synced: bool = False
    """A stale buffer was found to be as its file."""
    unsaved: bool = False
    """Unless it is saved the buffer holds unsaved text afterwards, also where nothing changes."""
    verify: Place | None = None
    """The file, if it is to be read again after the save."""
    rights: Rights | None = None
    """Of a file that is gone, for when the save makes it again."""


class Written(msgspec.Struct, frozen=True):
    """What became of a change. ``live`` is the buffer afterwards, None when it was not touched.

    ``moved``: the buffer or its file is no longer what the change was made for. ``busy``: Neovim
    allows no edit right now (textlock). The others but ``done`` refuse; the buffer is as it was.
    """

    outcome: Literal["done", "moved", "busy", "readonly", "conflict", "directory", "failed"]
    why: str = ""
    saved: bool = False
    live: BufferText | None = None
    held: bool = True
    """False where the file was read again and does not hold what was saved."""


class LiveBuffers(Protocol):
    """The editor's side. No method prompts, opens a window or moves the focus."""

    async def read(self, place: Place) -> BufferText | Closed:
        """The loaded buffer of a file; a clean one is brought up to date with it first."""
        ...

    async def load(self, place: Place, layout: Format | None = None) -> BufferText | Closed:
        """The same, loading the file into a hidden, listed buffer where there is none.

        ``layout`` is how the file is known to be encoded.
        """
        ...

    async def write(self, live: BufferText, change: Change) -> Written:
        """Apply a change as one undo step and save, if the buffer is still as in ``live``."""
        ...
