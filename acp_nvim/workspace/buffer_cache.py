"""The text of every watched buffer as Neovim has it, kept current by regions.

Stands between the files that agents use and `Buffers`: each text that passes is remembered, so a
region that the user changed (`acp.buffers.watch`) is enough to know the whole. What cannot be told
from regions is read again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from acp_nvim.edits.hunks import apply
from acp_nvim.edits.text import Text
from acp_nvim.workspace.file_format import Format, clean
from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.ports import BufferText, Change, Closed, LiveBuffers, Written


class Listener(Protocol):
    """Who hears of changes that no agent made through the editor."""

    def typed(self, path: str, after: Text, undone: bool = False) -> None:
        """The user changed the buffer to this text, by undo or redo or otherwise."""
        ...

    def reread(self, path: str, before: Text, after: Text, undone: bool = False) -> None:
        """Neovim has read the file again, or an undo has brought back what it read."""
        ...

    def left(self, path: str, before: Text | None, unsaved: bool) -> None:
        """Neovim has parted from the buffer's text, and maybe from what was not saved of it; None
        for a text that is not known.
        """
        ...

    def lost(self, path: str) -> None:
        """What became of the buffer is not known: it has to be read, or is gone."""
        ...


class Saving(msgspec.Struct, frozen=True):
    """What a save made of the last write: the text as asked for, and as it was saved."""

    asked: Text
    found: Text
    saved: bool


class Mirrors:
    """`LiveBuffers` with a memory, by the real path of the file."""

    def __init__(self, inner: LiveBuffers, listener: Callable[[], Listener]) -> None:
        self._inner = inner
        self._listener = listener
        self._known: dict[str, BufferText] = {}
        self._reread: set[str] = set()
        self._stale: set[str] = set()
        self._undone: set[str] = set()
        """Files whose text was changed by undo or redo and is not known yet."""
        self._missed: dict[str, tuple[int, int]] = {}
        """Buffer and changedtick of what was heard while its text was on its way."""
        self.saving: dict[str, Saving] = {}
        """The last write of each file through the editor; whoever uses it takes it out."""

    def get(self, path: str) -> BufferText | None:
        """The loaded buffer of a file as far as it is known."""
        return self._known.get(path)

    def stale(self, path: str) -> bool:
        """Whether the buffer has changed in a way that only reading it can tell."""
        return path in self._stale

    def path(self, live: BufferText) -> str:
        """Whose buffer this is; empty when it is known no more."""
        return next((path for path, known in self._known.items() if known is live), "")

    # ---- what agents do

    async def read(self, place: Place) -> BufferText | Closed:
        """See `LiveBuffers`."""
        return self.found(place.real, await self._inner.read(place))

    async def load(self, place: Place, layout: Format | None = None) -> BufferText | Closed:
        """See `LiveBuffers`."""
        return self.found(place.real, await self._inner.load(place, layout))

    async def write(self, live: BufferText, change: Change) -> Written:
        """See `LiveBuffers`."""
        path = self.path(live)
        written = await self._inner.write(live, change)
        if written.live is not None and path:
            self._known[path] = written.live
            if written.outcome == "done":
                asked = clean(Text(tuple(apply(live.raw.lines, change.hunks)), change.eol))
                self.saving[path] = Saving(asked, written.live.text, written.saved)
        return written

    def found(self, path: str, live: BufferText | Closed) -> BufferText | Closed:
        """The buffer as it was found just now; what has changed unheard is told.

        What the user typed may be heard between Neovim's answer and this: then that is newer.
        """
        known = self._known.get(path)
        if known is not None and isinstance(live, BufferText) and _newer(known, live):
            return known
        self._known.pop(path, None)
        again = path in self._reread
        self._reread.discard(path)
        self._stale.discard(path)
        undone = path in self._undone
        self._undone.discard(path)
        bufnr, tick = self._missed.pop(path, (0, 0))
        if isinstance(live, Closed):
            return live
        if bufnr == live.bufnr and tick > live.tick:
            self._lose(path)
        self._known[path] = live
        if known is not None and known.text != live.text:
            if again:
                self._listener().reread(path, known.text, live.text, undone)
            else:
                self._listener().typed(path, live.text, undone)
        return live

    def forget(self, path: str) -> None:
        """What the buffer holds is about to change by us, in a way that has to be read."""
        self._known.pop(path, None)

    def put(self, path: str, live: BufferText) -> None:
        """The buffer after a change of ours."""
        self._known[path] = live

    def ended(self, path: str, eol: bool) -> bool:
        """A save has given the text this end; whether it had the other one."""
        live = self._known.get(path)
        if live is None or live.text.eol == eol:
            return False
        raw, text = Text(live.raw.lines, eol), Text(live.text.lines, eol)
        text = raw if live.raw is live.text else text
        self._known[path] = msgspec.structs.replace(live, raw=raw, text=text)
        return True

    # ---- what Lua tells

    def heard(self, args: dict[str, Any]) -> None:
        """The verb `edited`: a region, or that there is something to be read."""
        path, known = str(args["path"]), self._known.get(str(args["path"]))
        if args.get("detached"):
            if known is not None and known.bufnr == args["bufnr"]:
                del self._known[path]
                text = None if path in self._stale else known.text
                self._listener().left(path, text, bool(args.get("unsaved")))
                self._listener().lost(path)
            return
        alone = path not in self._stale
        if known is None or known.bufnr != args["bufnr"]:
            self._missed[path] = int(args["bufnr"]), int(args["tick"])
            self._listener().lost(path)
        elif args.get("reloaded"):
            self._reread.add(path)
            self._lose(path, alone and bool(args.get("undone")))
        elif known.tick >= args["tick"]:
            return
        elif known.tick != args["base"]:
            self._lose(path, alone and bool(args.get("undone")))
        else:
            self._known[path] = _patched(known, args)
            self._listener().typed(path, self._known[path].text, bool(args.get("undone")))

    def _lose(self, path: str, undone: bool = False) -> None:
        """The text has to be read. It is one of an undo if nothing else has happened to it."""
        self._stale.add(path)
        (self._undone.add if undone else self._undone.discard)(path)
        self._listener().lost(path)


def _newer(known: BufferText, found: BufferText) -> bool:
    return known.bufnr == found.bufnr and known.tick > found.tick


def _patched(known: BufferText, args: dict[str, Any]) -> BufferText:
    first, last, eol = int(args["first"]), int(args["last"]), bool(args["eol"])
    region = Text(tuple(args["lines"]), eol)
    shown = clean(region)

    def put(text: Text, lines: tuple[str, ...]) -> Text:
        return Text((*text.lines[:first], *lines, *text.lines[last:]), eol)

    raw = put(known.raw, region.lines)
    same = known.raw is known.text and shown is region
    text = raw if same else put(known.text, shown.lines)
    return msgspec.structs.replace(
        known, tick=int(args["tick"]), raw=raw, text=text, modified=bool(args["modified"])
    )
