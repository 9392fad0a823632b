"""Agents write; users reject, undo, restore, reload and delete; programs write, links are swapped.

`python -m tests.torture.writes SEED COUNT` runs COUNT histories over a fake of Neovim's buffers
(`tests/support/fake_neovim.py`) and prints the steps of those that fail.

Nothing here computes a merge. Each line is made only once, so the origin of the lines shows what a
file must contain after a write.

- Lines that an agent adds stay. So do lines that it knew and that a decision removed, unless the
  user removed them by hand.
- A write that would leave none of its lines in the file is refused.
- Lines that the agent knew and omits are removed. Lines that it has never seen, of users or
  programs, stay.
- An agent that knows all edits of the user gets exactly its text, and never a conflict.
- After a success buffer and file are equal, except for unsaved edits of the user. After a refusal
  both are unchanged. Nothing outside of the workspace changes.
"""

from __future__ import annotations

import os
import random
import sys
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.review.review import Verdict
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from tests.support.fake_workspace import FakeWorkspace
from tests.torture import histories
from tests.torture.changes import Clock, changed

STEPS = 30
AGENTS = 2


class Knowledge:
    """An agent's knowledge of one file, line by line."""

    def __init__(self) -> None:
        self.text: Text | None = None
        """The text that it last read or wrote."""
        self.ever: set[str] = set()
        """All lines that it has ever read or written."""
        self.own: set[str] = set()
        """The lines that it has written."""
        self.wrote: list[Text] = []
        self.away: dict[str, str] = {}
        """Lines of its text that were removed, with the kind of step that removed them."""
        self.foreign = False
        """Whether the file has or lacks lines because of a step that the agent does not know."""
        self.back: set[str] = set()
        """Lines that appeared since its last read, except those of users and programs."""
        self.again: set[str] = set()
        """Lines that another agent has written again."""


class History:
    """One workspace with its files, users and agents."""

    def __init__(self, root: Path, seed: int, tasks: Tasks) -> None:
        self.rng = random.Random(seed)
        self.outside = root / "outside"
        self.work = root / "work"
        self.clock = Clock()
        self.words = 0
        self.log: list[str] = []
        self.workspace = FakeWorkspace(root, tasks, AGENTS)
        self.neovim, self.core = self.workspace.neovim, self.workspace.core
        self.sessions, self.options = self.workspace.sessions, self.workspace.options
        for folder in (self.outside, self.work / "d"):
            folder.mkdir()
        self.paths = [str(self.work / name) for name in ("a", "b", "d/c", "new", "deep/er/new")]
        self.minds = {(s.id, path): Knowledge() for s in self.sessions for path in self.paths}
        for path in self.paths[:3]:
            self.put(path, Text(tuple(self.word("old") for _ in range(12))))
        for name in ("c", "precious"):
            (self.outside / name).write_text("precious\n")

    # ---- state

    def word(self, who: str) -> str:
        self.words += 1
        return f"{who} {self.words}"

    def note(self, *words: object) -> None:
        self.log.append(" ".join(map(str, words)))

    def disk(self, path: str) -> Text | None:
        try:
            return parse(Path(path).read_text())
        except (FileNotFoundError, NotADirectoryError):
            return None

    def live(self, path: str) -> Text | None:
        """Return the text that the user sees."""
        buffer = self.neovim.buffers.get(path)
        disk = self.disk(path)
        if buffer is None or not buffer.modified:
            return disk
        return buffer.text

    def put(self, path: str, text: Text) -> None:
        """Write the file as another program would."""
        self.clock.put(Path(path), text)

    def changed(self, text: Text, who: str) -> Text:
        """Return a text with a few lines changed, added or removed."""
        return changed(text, self.rng, lambda: self.word(who))

    async def act(self, kind: str, path: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Take a step that is not an agent's write, and record its effect on each file."""
        self.note(kind, Path(path).relative_to(self.work) if path else "")
        texts = {one: self.live(one) for one in self.paths}
        result = await work()
        await self.wait_idle()
        for one, text in texts.items():
            if text != self.live(one):
                self.follow(one, kind, text, self.live(one))
        return result

    def follow(self, path: str, kind: str, old: Text | None, new: Text | None) -> None:
        """Record the lines that a step removed and added."""
        before, after = _lines(old), _lines(new)
        self.note("   ", path, "lost", sorted(before - after), "got", sorted(after - before))
        for session in self.sessions:
            mind = self.minds[session.id, path]
            known = _lines(mind.text)
            for line in before - after:
                mind.away[line] = kind
            for line in after - before:
                mind.away.pop(line, None)
                mind.back.add(line)
            if kind in ("types", "program", "agent"):
                mind.back -= after - before
                mind.foreign = True
            elif kind in ("undo", "unreject", "back"):
                strange = (after - before) - known | ((before - after) & known) - mind.own
                mind.foreign = mind.foreign or bool(strange) or not before ^ after

    async def wait_idle(self) -> None:
        """Wait until the host has processed all notifications."""
        await self.workspace.settle(*self.paths)

    # ---- agents

    async def ask_read(self, session: Session, path: str) -> str:
        """Return the answer to a read. Raise Refusal."""
        return await self.workspace.read(path, session)

    async def ask_write(self, session: Session, path: str, text: Text) -> None:
        """Write, and return on success. Raise Refusal."""
        await self.workspace.write(path, str(text), session)

    async def read(self, session: Session, path: str) -> bool:
        """Read the file as an agent, and return whether it exists."""
        self.note(session.id, "reads", path)
        live = self.live(path)
        buffer = self.neovim.buffers.get(path)
        reason, content = "", ""
        try:
            content = await self.ask_read(session, path)
        except Refusal as error:
            reason = error.reason
        if reason:
            assert (live, reason) == (None, "missing")
            return False
        if live is None:
            assert buffer is not None, "read a file that is not there"
            assert buffer.is_new, "read a file that is not there"
            live = EMPTY
        assert content == str(live), f"read another text: {content!r}"
        mind = self.minds[session.id, path]
        mind.text = live
        mind.ever |= set(live.lines)
        mind.away, mind.back, mind.again, mind.foreign = {}, set(), set(), False
        return True

    def composed(self, mind: Knowledge, path: str) -> Text:
        """Return the text for a write: a changed text, the same text again, or an older one."""
        if mind.text is None:
            return Text(tuple(self.word("agent") for _ in range(self.rng.randint(1, 8))))
        roll = self.rng.random()
        if roll < 0.3:
            return mind.text
        if roll < 0.45 and mind.wrote:
            return self.rng.choice(mind.wrote)
        return self.changed(mind.text, "agent")

    async def write(self) -> None:
        """Write, and check everything that must hold afterwards."""
        session, path = self.rng.choice(self.sessions), self.rng.choice(self.paths)
        mind = self.minds[session.id, path]
        if (mind.text is None and self.live(path) is not None) or self.rng.random() < 0.25:
            await self.read(session, path)
        text = self.composed(mind, path)
        live, disk = self.live(path), self.disk(path)
        buffer = self.neovim.buffers.get(path)
        modified = buffer is not None and buffer.modified
        self.note(session.id, "writes", path, list(text.lines))
        refused: Refusal | None = None
        try:
            await self.ask_write(session, path, text)
        except Refusal as error:
            refused = error
        if refused is not None:
            self.note("refused", str(refused))
            assert refused.reason == "conflict", str(refused)
            assert (self.live(path), self.disk(path)) == (live, disk), "refused and changed"
            alone = not mind.foreign and mind.text is not None and not modified
            assert not alone, f"nobody else was at work: {refused!s}"
            await self.read(session, path)
            return
        self.check(mind, path, text, live, modified)
        mind.own |= set(text.lines) - _lines(mind.text)
        mind.text = text
        mind.wrote.append(text)
        mind.ever |= set(text.lines)
        now = self.live(path)
        for line in _lines(now) & set(mind.away):
            del mind.away[line]
        for other in self.sessions:
            if other is not session and live != now:
                self.other_agent_wrote(self.minds[other.id, path], _lines(live), _lines(now))

    def other_agent_wrote(self, mind: Knowledge, before: set[str], after: set[str]) -> None:
        """Record a write of another agent."""
        mind.foreign = True
        mind.again |= after - before
        for line in before - after:
            mind.away[line] = "agent"
        for line in after - before:
            mind.away.pop(line, None)

    def check(
        self, mind: Knowledge, path: str, text: Text, live: Text | None, modified: bool
    ) -> None:
        """Check a write that succeeded."""
        now, disk = self.live(path), self.disk(path)
        assert now is not None, "no such file"
        buffer = self.neovim.buffers.get(path)
        assert buffer is None or buffer.text == now, "buffer and file differ"
        if not modified or self.options.save == "always":
            assert disk == now, "not saved"
            assert buffer is None or not buffer.modified, "not saved"
        if live is None or (not mind.foreign and mind.text is not None):
            assert now == text, f"alone, and {list(now.lines)}"
        result, wanted, there, known = map(_lines, (now, text, live, mind.text))
        assert result <= wanted | there, f"from nowhere: {result - wanted - there}"
        others = {it for it, kind in mind.away.items() if kind in ("types", "program", "agent")}
        new = wanted - known - others
        assert new <= result, f"not written: {new - result}"
        assert wanted & result or not wanted, "nothing of it is there"
        if mind.text is None:
            return
        decided = {it for it, kind in mind.away.items() if kind in ("decides", "restores")}
        decided |= {it for it, kind in mind.away.items() if kind == "gives up"} & mind.own
        again = wanted & known & decided
        assert again <= result, f"not written again: {again - result}"
        if live is not None:
            unseen = there - mind.ever - mind.back
            assert unseen <= result, f"lost: {unseen - result}"
            twice = {line for line in there if live.lines.count(line) > 1}  # undone and unrejected
            left = (there & known) - wanted - mind.back - mind.again - twice
            assert not left & result, f"still there: {left & result}"

    # ---- users

    def buffered(self) -> str | None:
        paths = [path for path in self.paths if path in self.neovim.buffers]
        return self.rng.choice(paths) if paths else None

    async def open(self) -> None:
        path = self.rng.choice(self.paths)
        self.note("opens", path)
        self.neovim.open(path)

    async def type(self) -> None:
        path = self.buffered()
        live = self.live(path) if path else None
        if path is None or live is None:
            return

        async def work() -> None:
            self.neovim.refresh(path)
            self.neovim.type(path, self.changed(self.neovim.buffers[path].text, "user"))
            if self.rng.random() < 0.6:
                self.neovim.save(path)

        await self.act("types", path, work)

    async def undo(self) -> None:
        path = self.buffered()
        if path is None:
            return

        async def work() -> None:
            undone = self.neovim.undo(path, self.rng.choice([1, 1, 2, 3, -1, -1]))
            if undone and (self.disk(path) is None or self.rng.random() < 0.7):
                self.neovim.save(path)

        await self.act("undo", path, work)

    async def reload(self) -> None:
        path = self.buffered()
        if path is None:
            return
        unsaved = self.neovim.buffers[path].modified
        leave = self.neovim.reload if self.rng.random() < 0.5 else self.neovim.wipe

        async def work() -> None:
            leave(path)

        await self.act("gives up" if unsaved else "looks", path, work)

    async def decide(self) -> None:
        """Accept or reject a hunk, a file or everything, or unreject."""
        ledger = self.core.files.ledger
        entries = ledger.files()
        verdict: Verdict = "accept" if self.rng.random() < 0.25 else "reject"
        if self.rng.random() < 0.2 and ledger.unreject_paths():
            await self.act("unreject", "", self.core.review.unreject)
            return
        if not entries:
            return
        entry = self.rng.choice(entries)
        if entry.hunks and self.rng.random() < 0.5:
            row = self.rng.choice(entry.hunks).new_start
            await self.act(
                "decides", entry.path, lambda: self.core.review.hunk(verdict, entry.path, row)
            )
        else:
            chosen = [entry] if self.rng.random() < 0.6 else entries
            await self.act("decides", "", lambda: self.core.review.files(verdict, chosen))

    async def program(self) -> None:
        """Write a file as another program."""
        path = self.rng.choice(self.paths[:4])
        disk = self.disk(path)
        buffer = self.neovim.buffers.get(path)
        if disk is None or (buffer is not None and buffer.modified):
            return

        async def work() -> None:
            self.put(path, self.changed(disk, "program"))

        await self.act("program", path, work)

    async def check_out(self) -> None:
        """Remove an agent's last write as a program would. Then the agent writes it again."""
        session, path = self.rng.choice(self.sessions), self.rng.choice(self.paths)
        mind, buffer = self.minds[session.id, path], self.neovim.buffers.get(path)
        old = self.disk(path)
        if old is None or (buffer is not None and buffer.modified):
            return
        await self.read(session, path)
        new = self.changed(old, "agent")
        if new.eol != old.eol:
            return
        self.note(session.id, "writes twice", path)
        for _ in range(2):
            self.put(path, old)
            await self.ask_write(session, path, new)
            found = self.disk(path), self.live(path)
            assert found == (new, new), f"taken out and not written again: {new} {found} {old}"
        mind.own |= _lines(new) - _lines(old)
        mind.text = new
        mind.wrote.append(new)
        mind.ever |= _lines(new)
        for other in self.sessions:
            if other is not session:
                self.other_agent_wrote(self.minds[other.id, path], _lines(old), _lines(new))

    async def delete(self) -> None:
        """Delete the file. Agents know nothing about the next file with this name."""
        path = self.rng.choice(self.paths)
        buffer = self.neovim.buffers.get(path)
        if self.disk(path) is None or (buffer is not None and buffer.modified):
            return

        async def work() -> None:
            os.unlink(path)  # noqa: PTH108

        await self.act("deletes", path, work)
        for session in self.sessions:
            await self.read(session, path)

    async def turn(self) -> None:
        """Run a turn, which makes a checkpoint for `restore`."""
        session = self.rng.choice(self.sessions)
        self.note(session.id, "is prompted")
        await self.workspace.turn(session)

    async def restore(self) -> None:
        """Restore a checkpoint or undo the last restore."""
        session = self.rng.choice(self.sessions)
        checkpoints = self.core.files.checkpoints
        kept = checkpoints.of(session.n)
        if not kept:
            return
        undo = checkpoints.lists()[1].get(session.n) and self.rng.random() < 0.4
        n = None if undo else self.rng.choice(kept).n
        kind = "back" if undo else "restores"
        await self.act(kind, "", lambda: self.workspace.restore(n, session))

    async def swap(self) -> None:
        """Replace a folder by a link to another one while an agent writes, then put it back."""
        folder, aside = self.work / "d", self.work / "aside"
        session = self.rng.choice(self.sessions)
        path = str(folder / "c")
        self.note("swap")
        folder.rename(aside)
        folder.symlink_to(self.outside)
        asks: list[Callable[[], Awaitable[Any]]] = [
            lambda: self.ask_write(session, path, Text(("pwned",))),
            lambda: self.ask_read(session, path),
        ]
        for ask in asks:
            reason = "served"
            try:
                await ask()
            except Refusal as error:
                reason = error.reason
            assert reason in ("outside", "failed", "missing"), reason
        folder.unlink()
        aside.rename(folder)

    # ---- all together

    def steps(self) -> list[Callable[[], Awaitable[None]]]:
        """Return the possible steps. Repeated ones are more likely."""
        return [
            *[self.write] * 10,
            *[self.decide] * 5,
            *[self.type] * 3,
            *[self.undo] * 3,
            *[self.open] * 2,
            self.reload,
            self.program,
            self.check_out,
            self.delete,
            self.turn,
            self.restore,
        ]

    async def step(self) -> None:
        """Take a random step."""
        if self.rng.random() < 0.02:
            await self.swap()
        else:
            await self.rng.choice(self.steps())()
        found = {file.name: file.read_text() for file in self.outside.iterdir()}
        assert found == {"c": "precious\n", "precious": "precious\n"}, found


def _lines(text: Text | None) -> set[str]:
    """Return the lines of a text except the empty one, whose origin is not known."""
    return set(text.lines) - {""} if text is not None else set()


async def history(root: Path, seed: int, steps: int = STEPS) -> None:
    """Run one random history. Raise AssertionError with its steps if it fails."""
    failures: list[str] = []
    async with anyio.create_task_group() as group:
        tasks = Tasks(
            group, lambda _, error: failures.append("".join(traceback.format_exception(error)))
        )
        world = History(root, seed, tasks)
        try:
            for _ in range(steps):
                await world.step()
                assert not failures, "\n".join(failures)
        except (AssertionError, Refusal, OSError, ValueError, KeyError) as error:
            told = "".join(traceback.format_exception(error)[-3:])
            raise AssertionError("\n".join([*world.log, told])) from error
        finally:
            group.cancel_scope.cancel()


def run(seed: int) -> str:
    """Run one history and return the failure, or ""."""
    return histories.run_async(history, seed)


if __name__ == "__main__":
    sys.exit(histories.main(run))
