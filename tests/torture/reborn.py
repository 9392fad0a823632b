"""Pending edits outlive Neovim: it is killed with its host, at any moment, and another one goes on.

`python -m tests.torture.reborn SEED COUNT` runs COUNT histories over fakes of Neovim and prints the
steps of those that fail; with the word `both` behind that two Neovims live over one folder.

Each line is made once, so who made it and what became of it is known by the line alone.

- What was written to the journal is shown by the next Neovim as it was by the last one: hunks,
  kinds, agents, rejects that can be taken back, checkpoints.
- Of what was being written when it was killed, either all counts or nothing.
- Two Neovims show the same once both have heard of each other. What one has decided is pending in
  neither; what nobody has decided is pending in both.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.journal import journal
from acp_nvim.files.review.decisions import Verdict
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims, shown, writers
from tests.torture.changes import Clock, changed

STEPS = 25
FILES = ("a", "b", "d/c", "new")


class KilledError(Exception):
    """The process is dead in the midst of a system call."""


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
        """Half of it is written where that is the last act."""
        if self._passes():
            return os.write(handle, data)
        os.write(handle, data[: len(data) // 2])
        raise KilledError

    def open(self, *args: Any) -> int:
        """Nothing is opened any more."""
        if self._passes():
            return os.open(*args)
        raise KilledError


@contextmanager
def dying(left: int) -> Any:
    """The journal's process is killed after so many system calls."""
    vars(journal)["os"] = DyingOs(left)
    try:
        yield
    finally:
        vars(journal)["os"] = os


def pending_lines(neovim: FakeWorkspace) -> set[tuple[str, str]]:
    """The new lines that are pending, and the removed ones, by path."""
    return {
        (path, sign + line)
        for path, (_, _, found) in shown(neovim).items()
        for removed, new in found
        for sign, lines in (("-", removed), ("+", new))
        for line in lines
    }


def dirty(neovim: FakeWorkspace) -> list[str]:
    """The files whose buffers hold unsaved text."""
    return [path for path, it in neovim.neovim.buffers.items() if it.modified]


def full_state(neovim: FakeWorkspace) -> Any:
    """All that outlives a Neovim."""
    rewind = neovim.review.rewind.checkpoints
    made, undo = rewind.lists()
    agents = {session.n: session.agent for session in neovim.sessions}
    return (
        shown(neovim),
        writers(neovim),
        [[one.before.path for one in level] for level in neovim.review.edits.ledger.rejects],
        sorted((agents[n], it.n, it.time, it.trees) for n, all_of in made.items() for it in all_of),
        sorted((agents[n], it.n, it.time) for n, all_of in undo.items() for it in all_of),
    )


class History:
    """Files, and one or two Neovims."""

    def __init__(self, started: Neovims, seed: int, both: bool) -> None:
        self.rng = random.Random(seed)
        self.started = started
        self.both = both
        self.files: Sequence[str] = FILES
        """Those that are written next."""
        self.work = started.root / "work"
        self.log: list[str] = []
        self.words = self.names = 0
        self.clock = Clock()
        self.alive: list[FakeWorkspace] = []
        self.written: dict[int, set[tuple[str, str]]] = {}
        self.decided: set[tuple[str, str]] = set()
        """Lines that were decided, as (path, line)."""
        self.leaves_unsaved = True
        """Whether the user leaves text unsaved in buffers."""
        self.undecided: set[str] = set()
        """Lines that agents have written, and that are pending wherever a file has them."""

    # ---- what there is

    def word(self, who: str) -> str:
        self.words += 1
        return f"{who} {self.words}"

    def note(self, *words: object) -> None:
        self.log.append(" ".join(map(str, words)))

    def path(self) -> Path:
        return self.work / self.rng.choice(self.files)

    def put(self, path: Path, text: Text) -> None:
        """A program writes the file."""
        self.clock.put(path, text)

    def changed(self, text: Text, who: str) -> Text:
        """A few lines changed, added, removed."""
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
        self.note("starts", self.names, shown(found))
        return found

    # ---- steps

    async def agent(self, neovim: FakeWorkspace) -> None:
        """An agent writes a file that it has just read."""
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
        """A turn, with its checkpoint."""
        self.note("turn")
        await neovim.turn(neovim.own_session)

    async def user(self, neovim: FakeWorkspace) -> None:
        """The user types and saves."""
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
        await neovim.review.sync_all()  # as a buffer that is shown is

    async def decide(self, neovim: FakeWorkspace) -> None:
        """A hunk, or a file, is accepted or rejected."""
        entries = neovim.review.edits.ledger.files()
        if not entries:
            return
        entry = self.rng.choice(entries)
        verdict: Verdict = "accept" if self.rng.random() < 0.5 else "reject"
        self.note(verdict, entry.path, shown(neovim))
        decisions = neovim.review.decisions
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
        """The user types, and does not save."""
        path = self.path()
        if path.exists():
            neovim.neovim.open(str(path))
            neovim.neovim.refresh(str(path))
            new = self.changed(neovim.neovim.buffers[str(path)].text, "user")
            self.note("types unsaved", path.name, list(new.lines))
            neovim.neovim.type(str(path), new)
            await neovim.settle(path)

    async def save(self, neovim: FakeWorkspace) -> None:
        """The user saves a buffer, or throws it away."""
        for path in dirty(neovim)[:1]:
            way = self.rng.choice(["save", "reload", "wipe"])
            self.note(way, path)
            self.decided.clear()  # what the other one decided may be in this buffer
            getattr(neovim.neovim, way)(path)
            await neovim.settle(path)
            await neovim.review.edits.sync(path)
            await neovim.review.sync_all()

    def check_disk(self, neovim: FakeWorkspace) -> None:
        """What agents have written and nobody has decided is pending where a file has it."""
        pending = pending_lines(neovim)
        apart = {name for name, (_, conflict, _) in shown(neovim).items() if conflict}
        for name in set(FILES) - apart:
            disk = self.disk(self.work / name)
            found = {line for line in disk.lines if line in self.undecided} if disk else set()
            lost = {line for line in found if (name, f"+{line}") not in pending}
            assert not lost, f"in {name} and not pending: {lost}"

    async def unreject(self, neovim: FakeWorkspace) -> None:
        """The last reject is taken back."""
        self.note("unreject")
        said = await neovim.review.decisions.unreject()
        self.note("   ", said)
        self.decided.clear()

    async def restore(self, neovim: FakeWorkspace) -> None:
        """A checkpoint is restored, of whichever Neovim."""
        made = neovim.review.rewind.checkpoints.lists()[0]
        kept = [(n, it.n) for n, all_of in made.items() for it in all_of]
        if not kept:
            return
        n, at = self.rng.choice(kept)
        session = next(it for it in neovim.sessions if it.n == n)
        self.note("restores", n, at)
        self.note("   ", await neovim.restore(at, session))
        self.decided.clear()

    async def exchange(self, neovim: FakeWorkspace) -> None:
        """What is new is written, and what others have written is known."""
        await neovim.exchange()
        self.written[id(neovim)] = pending_lines(neovim)

    def kill(self, neovim: FakeWorkspace) -> None:
        self.started.kill(neovim)
        self.alive.remove(neovim)

    async def die(self, neovim: FakeWorkspace) -> None:
        """It is killed when all is written, and the next one shows the same."""
        await self.exchange(neovim)
        before, unsaved = full_state(neovim), dirty(neovim)
        self.note("dies", before[0], unsaved)
        self.kill(neovim)
        after = full_state(await self.start())
        assert unsaved or after == before, f"\n{before}\n{after}"
        self.check_disk(self.alive[0])

    async def die_writing(self, neovim: FakeWorkspace) -> None:
        """It is killed while it writes, or before."""
        before = self.written.get(id(neovim), set())
        now = pending_lines(neovim)
        left = self.rng.randrange(6)
        unsaved = {str(Path(path).relative_to(self.work)) for path in dirty(neovim)}
        self.note("dies writing", left, shown(neovim))
        with dying(left):
            await neovim.exchange()
        self.kill(neovim)
        self.written.clear()
        after = pending_lines(await self.start())
        apart = {path for path, (_, conflict, _) in shown(self.alive[0]).items() if conflict}
        lost = {line for line in before & now - after if line[0] not in apart | unsaved}
        assert not lost, f"lost: {lost}"
        came = {line for line in after - before - now if line[0] not in unsaved}
        assert not came, f"from nowhere: {came}"
        self.undecided &= {line[1:] for _, line in after}

    async def meet(self) -> None:
        """Both have heard of each other, and have nothing to say any more."""
        for _ in range(4):
            for neovim in self.alive:
                await self.exchange(neovim)
                await neovim.review.sync_all()
        sizes = self.sizes()
        for neovim in (*self.alive, *self.alive):
            await self.exchange(neovim)
        self.note("meet", *map(shown, self.alive))
        assert self.sizes() == sizes, "they write again and again"
        if any(map(dirty, self.alive)):
            return
        first, *others = map(pending_lines, self.alive)
        assert all(it == first for it in others), "not the same"
        for path, line in self.decided:
            name = str(Path(path).relative_to(self.work))
            assert (name, f"+{line}") not in first, f"decided and pending: {line}"

    def sizes(self) -> list[int]:
        """The sizes of all journals."""
        found = self.started.root.glob("data/acp/workspaces/*/journal")
        return [path.stat().st_size for path in sorted(found)]

    def steps_of_two(self) -> list[Callable[[FakeWorkspace], Awaitable[None]]]:
        """What may be done where another Neovim does the like."""
        once = [self.prompt, self.restore]
        unsaved = [self.type_only, self.save] if self.leaves_unsaved else []
        often = [*[self.agent] * 6, *[self.decide] * 6]
        return [*often, *[self.user] * 2, *unsaved * 2, *once * 3]

    def steps(self) -> list[Callable[[FakeWorkspace], Awaitable[None]]]:
        """What may be done; what is there twice is done twice as often."""
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
        """One step, by chance."""
        neovim = self.rng.choice(self.alive)
        self.note(f"[{neovim.review.persistence.keys.instance}]")
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
    """One random history; AssertionError with its steps where something is not as it must be."""
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
    """One history in a directory of its own; why it failed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        try:
            anyio.run(history, Path(os.path.realpath(root)), seed, both)
        except (AssertionError, BaseExceptionGroup) as error:
            found: BaseException = error
            while isinstance(found, BaseExceptionGroup):
                found = found.exceptions[0]
            return str(found) or repr(found)
    return ""


def main(words: Sequence[str]) -> int:
    """Run histories from a seed on; the number of those that failed."""
    first, count = (int(word) for word in [*words, "1"][:2])
    failed = 0
    for seed in range(first, first + count):
        why = run(seed, "both" in words)
        if why:
            failed += 1
            print(seed, "FAILED", why[-3000:], sep="\n", flush=True)
    print(f"{count} histories, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
