"""Pending edits survive Neovim, which is killed with its host at any moment and started again.

`python -m tests.torture.reborn SEED COUNT` runs COUNT histories over a fake of Neovim and prints
the steps of those that fail. With a final `both`, two Neovims work in one folder.

Each line is made only once, so a line alone identifies its author and its decision.

- The next Neovim shows everything that was written to the journal, unchanged: hunks, kinds, agents,
  rejects that can be taken back, checkpoints.
- A write that was interrupted counts entirely or not at all.
- Two Neovims show the same after they have exchanged their journals. Lines that one has decided are
  pending in neither. Undecided lines are pending in both.
"""

from __future__ import annotations

import os
import random
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.journal import journal
from acp_nvim.files.review.review import Verdict
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims, pending_by_path, writers
from tests.torture import histories
from tests.torture.changes import Clock, changed

STEPS = 25
FILES = ("a", "b", "d/c", "new")


class KilledError(Exception):
    """The process was killed during a system call."""


class DyingOs:
    """The module `os` of a process that is killed at its n-th write or opening of a file."""

    def __init__(self, left: int) -> None:
        self._left = left

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _passes(self) -> bool:
        self._left -= 1
        return self._left >= 0

    def write(self, handle: int, data: memoryview) -> int:
        """Write the data, or half of it if this is the last call."""
        if self._passes():
            return os.write(handle, data)
        os.write(handle, data[: len(data) // 2])
        raise KilledError

    def open(self, *args: Any) -> int:
        """Open a file, or fail if the process is dead."""
        if self._passes():
            return os.open(*args)
        raise KilledError


@contextmanager
def dying(left: int) -> Any:
    """Kill the process that writes the journal after a number of system calls."""
    vars(journal)["os"] = DyingOs(left)
    try:
        yield
    finally:
        vars(journal)["os"] = os


def pending_lines(neovim: FakeWorkspace) -> set[tuple[str, str]]:
    """Return the pending lines, new and removed, with their paths."""
    return {
        (path, sign + line)
        for path, (_, _, found) in pending_by_path(neovim).items()
        for removed, new in found
        for sign, lines in (("-", removed), ("+", new))
        for line in lines
    }


def dirty(neovim: FakeWorkspace) -> list[str]:
    """Return the paths of buffers with unsaved text."""
    return [path for path, it in neovim.neovim.buffers.items() if it.modified]


def full_state(neovim: FakeWorkspace) -> Any:
    """Return all state that must survive Neovim."""
    rewind = neovim.core.files.checkpoints
    made, undo = rewind.lists()
    agents = {session.n: session.agent for session in neovim.sessions}
    return (
        pending_by_path(neovim),
        writers(neovim),
        [[one.before.path for one in level] for level in neovim.core.files.ledger.rejects],
        sorted((agents[n], it.n, it.time, it.trees) for n, all_of in made.items() for it in all_of),
        sorted((agents[n], it.n, it.time) for n, all_of in undo.items() for it in all_of),
    )


class History:
    """Files with one or two Neovims."""

    def __init__(self, started: Neovims, seed: int, both: bool) -> None:
        self.rng = random.Random(seed)
        self.started = started
        self.both = both
        self.files: Sequence[str] = FILES
        """The files for the next writes."""
        self.work = started.root / "work"
        self.log: list[str] = []
        self.words = self.names = 0
        self.clock = Clock()
        self.alive: list[FakeWorkspace] = []
        self.written: dict[int, set[tuple[str, str]]] = {}
        self.decided: set[tuple[str, str]] = set()
        """Decided lines as (path, line)."""
        self.leaves_unsaved = True
        """Whether the user leaves unsaved text in buffers."""
        self.undecided: set[str] = set()
        """Lines of agents that must be pending if a file has them."""

    # ---- state

    def word(self, who: str) -> str:
        self.words += 1
        return f"{who} {self.words}"

    def note(self, *words: object) -> None:
        self.log.append(" ".join(map(str, words)))

    def path(self) -> Path:
        return self.work / self.rng.choice(self.files)

    def put(self, path: Path, text: Text) -> None:
        """Write the file as another program would."""
        self.clock.put(path, text)

    def changed(self, text: Text, who: str) -> Text:
        """Return a text with a few lines changed, added or removed."""
        return changed(text, self.rng, lambda: self.word(who))

    def disk(self, path: Path) -> Text | None:
        return parse(path.read_text()) if path.exists() else None

    async def begin(self) -> None:
        for name in FILES[:3]:
            self.put(self.work / name, Text(tuple(self.word("old") for _ in range(12))))
        for _ in range(2 if self.both else 1):
            await self.start()

    async def start(self) -> FakeWorkspace:
        self.names += 1
        found = await self.started.neovim(f"n{self.names}", agents=0)
        found.add_session(f"agent {self.names}")
        self.alive.append(found)
        self.note("starts", self.names, pending_by_path(found))
        return found

    # ---- steps

    async def agent(self, neovim: FakeWorkspace) -> None:
        """Write a file that the agent has just read."""
        path, session = self.path(), neovim.own_session
        text = EMPTY
        try:
            text = parse(await neovim.read(path, session))
        except Refusal as error:
            if error.reason != "missing":
                raise
        new = self.changed(text, "agent")
        self.note("writes", path.name, list(new.lines))
        await neovim.write(path, str(new), session)
        self.undecided |= set(new.lines) - set(text.lines)

    async def prompt(self, neovim: FakeWorkspace) -> None:
        """Run a turn, which makes a checkpoint."""
        self.note("turn")
        await neovim.turn(neovim.own_session)

    async def user(self, neovim: FakeWorkspace) -> None:
        """Type and save as the user."""
        path = self.path()
        if not path.exists():
            return
        neovim.neovim.open(str(path))
        neovim.neovim.refresh(str(path))
        new = self.changed(neovim.neovim.buffers[str(path)].text, "user")
        self.note("types", path.name, list(new.lines))
        neovim.neovim.type(str(path), new)
        neovim.neovim.save(str(path))
        await neovim.settle(path)
        await neovim.core.sync_all()  # as for a visible buffer

    async def decide(self, neovim: FakeWorkspace) -> None:
        """Accept or reject a hunk or a file."""
        entries = neovim.core.files.ledger.files()
        if not entries:
            return
        entry = self.rng.choice(entries)
        verdict: Verdict = "accept" if self.rng.random() < 0.5 else "reject"
        self.note(verdict, entry.path, pending_by_path(neovim))
        decisions = neovim.core.review
        if entry.live is not None and entry.hunks and self.rng.random() < 0.7:
            hunk = self.rng.choice(entry.hunks)
            said = await decisions.hunk(verdict, entry.path, hunk.new_start)
            lines = hunk.lines
        else:
            said = await decisions.files(verdict, [entry])
            lines = tuple(line for hunk in entry.hunks for line in hunk.lines)
        self.note("   ", said)
        if not said:
            self.decided |= {(entry.path, line) for line in lines}
        if verdict == "accept" or any("not saved yet" not in line for line in said):
            self.undecided -= set(lines)
            self.undecided -= set(entry.theirs.lines if entry.theirs else ())

    async def type_only(self, neovim: FakeWorkspace) -> None:
        """Type without saving."""
        path = self.path()
        if path.exists():
            neovim.neovim.open(str(path))
            neovim.neovim.refresh(str(path))
            new = self.changed(neovim.neovim.buffers[str(path)].text, "user")
            self.note("types unsaved", path.name, list(new.lines))
            neovim.neovim.type(str(path), new)
            await neovim.settle(path)

    async def save(self, neovim: FakeWorkspace) -> None:
        """Save a buffer or discard its changes."""
        for path in dirty(neovim)[:1]:
            way = self.rng.choice(["save", "reload", "wipe"])
            self.note(way, path)
            self.decided.clear()  # the buffer may have lines that the other Neovim has decided
            getattr(neovim.neovim, way)(path)
            await neovim.settle(path)
            await neovim.core.live.sync(path)
            await neovim.core.sync_all()

    def check_disk(self, neovim: FakeWorkspace) -> None:
        """Check that undecided lines of agents are pending in each file that has them."""
        pending = pending_lines(neovim)
        conflicted = {
            name for name, (_, conflict, _) in pending_by_path(neovim).items() if conflict
        }
        for name in set(FILES) - conflicted:
            disk = self.disk(self.work / name)
            found = {line for line in disk.lines if line in self.undecided} if disk else set()
            lost = {line for line in found if (name, f"+{line}") not in pending}
            assert not lost, f"in {name} and not pending: {lost}"

    async def unreject(self, neovim: FakeWorkspace) -> None:
        self.note("unreject")
        said = await neovim.core.review.unreject()
        self.note("   ", said)
        self.decided.clear()

    async def restore(self, neovim: FakeWorkspace) -> None:
        """Restore a checkpoint of either Neovim."""
        made = neovim.core.files.checkpoints.lists()[0]
        kept = [(n, it.n) for n, all_of in made.items() for it in all_of]
        if not kept:
            return
        n, at = self.rng.choice(kept)
        session = next(it for it in neovim.sessions if it.n == n)
        self.note("restores", n, at)
        self.note("   ", await neovim.restore(at, session))
        self.decided.clear()

    async def exchange(self, neovim: FakeWorkspace) -> None:
        """Write the journal, and read the journals of others."""
        await neovim.exchange()
        self.written[id(neovim)] = pending_lines(neovim)

    def kill(self, neovim: FakeWorkspace) -> None:
        self.started.kill(neovim)
        self.alive.remove(neovim)

    async def die(self, neovim: FakeWorkspace) -> None:
        """Kill a Neovim when everything is written. The next one must show the same."""
        await self.exchange(neovim)
        before, unsaved = full_state(neovim), dirty(neovim)
        self.note("dies", before[0], unsaved)
        self.kill(neovim)
        after = full_state(await self.start())
        assert unsaved or after == before, f"\n{before}\n{after}"
        self.check_disk(self.alive[0])

    async def die_writing(self, neovim: FakeWorkspace) -> None:
        """Kill a Neovim before or during its write."""
        before = self.written.get(id(neovim), set())
        now = pending_lines(neovim)
        left = self.rng.randrange(6)
        unsaved = {str(Path(path).relative_to(self.work)) for path in dirty(neovim)}
        self.note("dies writing", left, pending_by_path(neovim))
        with dying(left):
            await neovim.exchange()
        self.kill(neovim)
        self.written.clear()
        after = pending_lines(await self.start())
        conflicted = {
            path for path, (_, conflict, _) in pending_by_path(self.alive[0]).items() if conflict
        }
        lost = {line for line in before & now - after if line[0] not in conflicted | unsaved}
        assert not lost, f"lost: {lost}"
        came = {line for line in after - before - now if line[0] not in unsaved}
        assert not came, f"from nowhere: {came}"
        self.undecided &= {line[1:] for _, line in after}

    async def meet(self) -> None:
        """Exchange journals until neither Neovim writes any more."""
        for _ in range(4):
            for neovim in self.alive:
                await self.exchange(neovim)
                await neovim.core.sync_all()
        sizes = self.sizes()
        for neovim in (*self.alive, *self.alive):
            await self.exchange(neovim)
        self.note("meet", *map(pending_by_path, self.alive))
        assert self.sizes() == sizes, "they write again and again"
        if any(map(dirty, self.alive)):
            return
        first, *others = map(pending_lines, self.alive)
        assert all(it == first for it in others), "not the same"
        for path, line in self.decided:
            name = str(Path(path).relative_to(self.work))
            assert (name, f"+{line}") not in first, f"decided and pending: {line}"

    def sizes(self) -> list[int]:
        """Return the sizes of all journals."""
        found = self.started.root.glob("data/acp/workspaces/*/journal")
        return [path.stat().st_size for path in sorted(found)]

    def steps_of_two(self) -> list[Callable[[FakeWorkspace], Awaitable[None]]]:
        """Return the possible steps beside another Neovim. Repeated ones are more likely."""
        once = [self.prompt, self.restore]
        unsaved = [self.type_only, self.save] if self.leaves_unsaved else []
        often = [*[self.agent] * 6, *[self.decide] * 6]
        return [*often, *[self.user] * 2, *unsaved * 2, *once * 3]

    def steps(self) -> list[Callable[[FakeWorkspace], Awaitable[None]]]:
        """Return the possible steps. Repeated ones are more likely."""
        once = [self.unreject, self.prompt, self.restore]
        unsaved = [self.type_only, self.save] if self.leaves_unsaved else []
        return [
            *[self.agent] * 6,
            *[self.decide] * 5,
            *[self.user] * 3,
            self.exchange,
            *once,
            *unsaved * 2,
        ]

    async def step(self) -> None:
        """Take a random step."""
        neovim = self.rng.choice(self.alive)
        self.note(f"[{neovim.core.persistence.keys.instance}]")
        if self.both:
            await self._step_of_two(neovim)
        elif self.rng.random() < 0.2:
            await self.rng.choice([self.die, self.die, self.die_writing])(neovim)
        else:
            await self.rng.choice(self.steps())(neovim)

    async def _step_of_two(self, neovim: FakeWorkspace) -> None:
        roll = self.rng.random()
        if roll < 0.15:
            await self.meet()
        elif roll < 0.22:
            await self.meet()
            self.kill(neovim)
            await self.start()
            await self.meet()
        else:
            await self.rng.choice(self.steps_of_two())(neovim)
            await self.exchange(neovim)


async def history(root: Path, seed: int, both: bool, steps: int = STEPS) -> None:
    """Run one random history. Raise AssertionError with its steps if it fails."""
    started = Neovims(root)
    world = History(started, seed, both)
    try:
        await world.begin()
        for _ in range(steps):
            await world.step()
            assert not started.failures, "\n".join(started.failures)
        if both:
            await world.meet()
        started.kill_all()
    except Exception as error:
        told = "".join(traceback.format_exception(error)[-3:])
        raise AssertionError("\n".join([*world.log, told])) from error


def run(seed: int, both: bool = False) -> str:
    """Run one history and return the failure, or ""."""
    return histories.run_async(history, seed, both)


if __name__ == "__main__":
    sys.exit(histories.main(run))
