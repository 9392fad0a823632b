"""All that has to do with agents' edits, wired together: what the host calls, and nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import to_thread

from acp_nvim.editor.bridge import Bridge
from acp_nvim.editor.comments import Comments
from acp_nvim.editor.proposed_edits import Proposing
from acp_nvim.edits.text import Text
from acp_nvim.protocol.text import clean_text
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.workspace.commits import Commits
from acp_nvim.workspace.decisions import Decide
from acp_nvim.workspace.disk_changes import DiskEdits
from acp_nvim.workspace.early_look import ANNOUNCED_S, Coming
from acp_nvim.workspace.file_format import Format
from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.pending_edits import Edits
from acp_nvim.workspace.persistence import Outliving
from acp_nvim.workspace.ports import FileOptions
from acp_nvim.workspace.rewind import Rewind
from acp_nvim.workspace.snapshots.checkpoints import Checkpoint, Checkpoints, prune, targets
from acp_nvim.workspace.snapshots.snapshots import Snapshots, stamp_of
from acp_nvim.workspace.tool_call_files import Calling
from acp_nvim.workspace.turns import Turn

PATIENCE_S: Final = 0.05
"""How long a prompt waits for the look at the files before it."""
SLOW_S: Final = 1.0
"""A first look that takes longer than this from the prompt on is told."""
HEARD: Final = frozenset({"edited", "saved", "leaving"})
"""Verbs that are taken in at once, before the answers to requests that were sent after them."""

Notice = Callable[[str], None]


class Reviewing:
    """Pending edits, edits on disk, decisions, checkpoints and remarks of all sessions."""

    def __init__(
        self,
        bridge: Bridge,
        push: Callable[..., None],
        options: Callable[[], FileOptions],
        sessions: Callable[[], Iterable[Session]],
        notice: Notice,
    ) -> None:
        self.data: Path | None = None
        """`stdpath('data')/acp`, once Lua has told it."""
        self.checkpoints = True
        self._sessions = sessions
        self.snapshots = Snapshots(self._home, notice)
        self._made = Checkpoints(self.snapshots)
        self.edits = Edits(bridge, self._push, options, sessions, self._made)
        self.decide = Decide(self.edits)
        self.commits = Commits(self.edits, self.snapshots, self._by_agent)
        self.comments = Comments(push)
        self.proposing = Proposing(self.edits, self.comments)
        self.disk: DiskEdits
        self.coming: Coming
        self.rewind: Rewind
        self.outliving: Outliving
        self.run = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        """The name of this run of Neovim, once Lua has told it; else of this process."""
        self._notice = notice
        self._pushed = push
        self._pruned = False
        self._open: dict[int, Checkpoint | None] = {}
        """Those of the turns that run, by our number of the session."""
        self._read: dict[str, Text] = {}
        self._kept: set[str] = set()
        """Of files that agents have read, those that stores keep."""

    def start(self, tasks: Tasks) -> None:
        """The loop runs now."""
        self._tasks = tasks
        self.disk = DiskEdits(self.edits, self.snapshots, tasks)
        self.calling = Calling(self.disk, self.snapshots, tasks)
        self.coming = Coming(self.disk, tasks)
        self.rewind = Rewind(self.edits, self._made, self.disk, self.snapshots)
        self.outliving = Outliving(self.edits, self.rewind, self.commits, tasks, self._notice)
        tasks.start_soon(self.edits.run)

    def _push(self, *op: Any) -> None:
        """Show what has changed, and keep it for the process after this one."""
        self._pushed(*op)
        self.outliving.touch()

    def _by_agent(self, at: int) -> bool:
        """Whether a tool call ran at that time, in nanoseconds; or perhaps, under a host that was
        killed.
        """
        if at <= self.outliving.cut_until:
            return True
        return any(turn.called(at) for turn in self.disk.turns.ready())

    def _home(self) -> Path:
        """Where this run keeps its copies."""
        base = self.data or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "acp"
        return base / "checkpoints" / self.run

    # ---- hooks

    def heard(self, name: str, args: dict[str, Any]) -> None:
        """One of the verbs `HEARD`."""
        if name == "edited":
            self.edits.mirrors.heard(args)
        elif name == "leaving":
            self.outliving.leaving()
        else:
            self._saved(str(args["path"]), args)

    def _saved(self, path: str, args: dict[str, Any]) -> None:
        if args.get("stamp"):
            self.edits.stamps[path] = args["stamp"]
            (self.edits.coded.add if args.get("coded") else self.edits.coded.discard)(path)
        if args.get("idle"):
            self.edits.unseen.add(path)
        elif "bufnr" in args:
            text = args.get("lines"), bool(args.get("eol", True))
            self.edits.saved(path, *text, bool(args.get("unaware")))
            encoding, bomb, ends = args.get("layout", ["", False, "unix"])
            layout = Format(encoding or "utf-8", bool(bomb), ends == "dos", ends == "mac")
            self.edits.layouts.lies(path, self.edits.known.get(path), layout)
        else:  # a buffer's text, or part of it, in another file
            self._tasks.start_soon(self.before_write, path)

    async def looked(self, path: str, shown: Text | None = None) -> str | None:
        """The user finds a file changed; returns its stamp if the text is the same all the same.

        ``shown`` is what Neovim has read of it by itself.
        """
        if shown is not None:
            self.edits.reads[path] = shown
        stamp = await to_thread.run_sync(stamp_of, path)
        roots = [root for session in self._sessions() for root in session.roots]
        same = await self.disk.unchanged(path, roots)
        if self.edits.reads.get(path) is shown:
            self.edits.reads.pop(path, None)
        return stamp if same else None

    async def before_write(self, path: str) -> None:
        """An agent is about to write a file through the editor."""
        await self.disk.before_write(path)

    def read(self, path: str, text: Text) -> None:
        """An agent at work was given a text: what a file held that no store keeps."""
        live = self.edits.mirrors.get(path)
        if path in self.edits.known or path in self._kept or not self.disk.turns.ready():
            return
        if live is None or not live.modified:
            self._read[path] = text
            if len(self._read) == 1:
                self._tasks.start_soon(self._keep_read)

    async def _keep_read(self) -> None:
        read, self._read = self._read, {}
        loose = set(await self.snapshots.loose(self.disk.turns.roots(), list(read)))
        for path, text in read.items():
            if path in loose and self.edits.known.setdefault(path, text) is text:
                live = self.edits.mirrors.get(path)
                self.edits.layouts.lies(path, text, live.format if live else None)
        self._kept |= read.keys() - loose

    def wrote(
        self, session: Session, path: str, before: Text | None, after: Text, kind: str
    ) -> None:
        """A write through the editor has landed (`OnWrite`)."""
        self._made.touched(path, before)
        self.edits.wrote(session, path, before, after, self.proposing.agents(session, path))

    def prepare(self, session: Session) -> None:
        """A session is made: its files are looked at while its agent starts."""
        if not self.snapshots.looked(session.roots):
            self._tasks.start_soon(self._prepare, session)

    async def _prepare(self, session: Session) -> None:
        await self.disk.look(session.roots)
        await self.commits.check(Place(root, root).real for root in session.roots)

    async def revived(self, shown: Iterable[str]) -> None:
        """Sessions go on that another process had: see what became of their files meanwhile."""
        await self.outliving.catch_up(shown)
        if self.edits.ledger.files():
            for session in self._sessions():
                await self._prepare(session)

    def turn_comes(self, session: Session) -> None:
        """A prompt waits until its session is open."""
        self.coming.expect(session)

    async def turn_began(self, session: Session, prompt: Prompt) -> None:
        """A prompt is about to be sent: what files hold now is what they held before it."""
        n = self.rewind.number(session, prompt)
        label = clean_text(prompt.text)
        kept = await self.rewind.keep(session, n, label) if self.checkpoints else None
        self._open[session.n] = kept
        self.outliving.touch()
        turn = self.disk.enter(session)
        with anyio.move_on_after(ANNOUNCED_S):
            await self.disk.turns.announce()
        await self.disk.remember(turn)  # all that he saved before that has been told by now
        looked = self.coming.take(session)
        if looked:
            self._looked(turn, kept)
        else:
            looked = await self._briefly(self._begin, turn, kept)
        if turn.closed or not looked:
            self.disk.sent(turn)

    async def _briefly(self, work: Callable[..., Awaitable[None]], *args: Any) -> bool:
        """Do it, and wait for it as long as no user notices; whether it is done."""
        done = anyio.Event()

        async def run() -> None:
            try:
                await work(*args)
            finally:
                done.set()

        self._tasks.start_soon(run)
        with anyio.move_on_after(PATIENCE_S):
            await done.wait()
        return done.is_set()

    async def _begin(self, turn: Turn, kept: Checkpoint | None) -> None:
        """Look at the files as they were before the prompt; where they are many that goes on while
        the agent has it already.
        """
        session = turn.session
        if not self.snapshots.looked(turn.roots):
            self._tasks.start_soon(self._tell_if_slow, turn)
        try:
            if not await self.coming.wait(session):
                await self.disk.begin(turn)
        finally:
            turn.ready.set()
        self._looked(turn, kept)
        await self.disk.begun(turn)
        late, turn.late = turn.late, []
        if kept is not None:
            kept.late.update(targets(late))
            self.outliving.touch()

    def _looked(self, turn: Turn, kept: Checkpoint | None) -> None:
        """What the files were before the prompt is known."""
        turn.ready.set()
        self.disk.before.done(turn)
        if kept is not None:
            self.rewind.complete(kept, turn.session)
            self.outliving.touch()
        self._tasks.start_soon(self._tidy, turn.session)

    async def _tidy(self, session: Session) -> None:
        """What no prompt waits for."""
        await self.commits.check(Place(root, root).real for root in session.roots)
        if not self._pruned:
            self._pruned = True
            home = self._home()
            await to_thread.run_sync(prune, home.parent, home)

    async def _tell_if_slow(self, turn: Turn) -> None:
        with anyio.move_on_after(SLOW_S):
            await turn.ready.wait()
            return
        self._notice(
            "many files: they are still being looked at for the first time; what the agent changes "
            "on disk before that is done is reviewed where a tool call has named it"
        )

    async def turn_ended(self, session: Session) -> None:
        """The agent has answered the prompt, or is gone."""
        turn = self.disk.turns.get(session)
        if turn is not None:
            turn.answered()  # the user may know of the end before the next line is done
        await self.proposing.ended(session)
        await self._briefly(self._end, session, self._open.pop(session.n, None))

    async def _end(self, session: Session, kept: Checkpoint | None) -> None:
        try:
            await self.disk.end(session)
            if kept is not None:
                kept.ends.append(time.time())
                self.outliving.touch()
            await self.commits.check(Place(root, root).real for root in session.roots)
        finally:
            self.disk.leave(session)

    async def refresh(self, sessions: Iterable[Session]) -> None:
        """Files may have changed while nobody looked: commits, edits by other programs."""
        roots = {Place(root, root).real for session in sessions for root in session.roots}
        await self.commits.check(sorted(roots))
        await self.sync_all()

    async def sync_all(self) -> None:
        """Bring all entries up to date with their files."""
        for entry in self.edits.ledger.files():
            await self.edits.look(entry.path)
            async with self.edits.alone(entry.path):
                await self.edits.sync(entry.path)
