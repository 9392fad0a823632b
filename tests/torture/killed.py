"""Journal and history outlive SIGKILL: real processes, real files, killed at any moment.

`python -m tests.torture.killed SEED STEPS COUNT` runs COUNT histories and prints the steps of those
that fail; with the word `both` behind that two processes work over one folder at the same time.

A process takes a step of `reborn.py` and one of `remembered.py` when it is told to, and says when
that is written. It is killed between two steps or in the midst of one, then another one starts in
the same place.

- What it had said was written is there, all of it, and as it was.
- Of the step in which it was killed all is there or nothing, and nothing twice. An agent's line
  that has come into its file is pending.
- Two show the same once both have heard of each other, and what one has decided is pending in
  neither.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acp_nvim.edits.text import Text
from tests.torture import remembered
from tests.torture.changes import Clock
from tests.torture.killed_process import END, MEET, Acted, Done, Failed, Started, State, live
from tests.torture.reborn import FILES

STEPS = 20
PATIENCE_S = 30.0

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.torture.killed_process"])

Line = tuple[str, str]
"""A path, and a line that is added (`+`) or removed (`-`) there."""


class Child:
    """A process that is alive, and the last state that it had written."""

    def __init__(self, root: Path, number: int, seed: int, both: bool) -> None:
        self.pipe, theirs = _processes.Pipe()
        args = str(root), number, seed, theirs, both
        self.process = _processes.Process(target=live, args=args)
        self.process.start()
        theirs.close()
        self.number = number
        self.heard: list[Any] = []
        """What it has told since it was told to do something."""
        self.last: State = self.done()

    def tell(self, what: Any) -> None:
        """Let it do that."""
        self.heard.clear()
        self.pipe.send(what)

    def hear(self, seconds: float) -> bool:
        """Whether it has told something within so long."""
        if not self.pipe.poll(seconds):
            return False
        try:
            self.heard.append(self.pipe.recv())
        except (EOFError, OSError):
            return False  # it is dead
        if isinstance(self.heard[-1], Failed):
            raise AssertionError(self.heard[-1].why)
        return True

    def done(self) -> State:
        """Wait until it is done."""
        while self.hear(PATIENCE_S):
            if isinstance(self.heard[-1], Done):
                self.last = self.heard[-1]
                return self.last
        raise AssertionError(f"process {self.number} is not done: {self.heard}")

    def kill(self) -> None:
        """End it as it is; hear what it had told before."""
        self.process.kill()
        self.process.join()
        while self.hear(0):
            pass
        self.pipe.close()

    def named(self, kind: type[Any]) -> Any:
        """What it has told of that kind, if it has."""
        return next((one for one in self.heard if type(one) is kind), None)


class Parent:
    """A folder, and the processes that work there."""

    def __init__(self, root: Path, seed: int, both: bool) -> None:
        self.root = root
        self.seed = seed
        self.both = both
        self.rng = random.Random(seed)
        self.log: list[str] = []
        self.numbers = 0
        self.said: dict[str, list[Any]] = {}
        """What processes that are dead have said, by first prompts."""
        self.prompts = set[str]()
        clock, words = Clock(), iter(range(1, 1000))
        (root / "work").mkdir()
        for name in FILES[:3]:
            clock.put(root / "work" / name, Text(tuple(f"old {next(words)}" for _ in range(12))))
        self.alive: list[Child] = []
        for _ in range(2 if both else 1):
            self.start()

    def note(self, *words: object, sep: str = " ") -> None:
        self.log.append(sep.join(map(str, words)))

    def start(self) -> Child:
        self.numbers += 1
        child = Child(self.root, self.numbers, self.seed * 100 + self.numbers, self.both)
        self.alive.append(child)
        self.note("starts", self.numbers)
        return child

    def on_disk(self) -> set[Line]:
        """The lines that files have."""
        found = {name: self.root / "work" / name for name in FILES}
        return {
            (name, f"+{line}")
            for name, path in found.items()
            if path.exists()
            for line in path.read_text().splitlines()
        }

    # ---- steps

    def step(self) -> None:
        """One step of each process; one of them may be killed."""
        dying = self.rng.choice(self.alive) if self.rng.random() < 0.25 else None
        between = self.rng.random() < 0.3
        files = self.rng.sample(FILES, len(FILES))
        for at, child in enumerate(self.alive):
            if child is not dying or not between:  # no two write one file in the same moment
                child.tell(files[at :: len(self.alive)])
        if dying is not None:
            self.die(dying, between)
        for child in self.alive:
            if child is not dying and child.heard[-1:] != [child.last]:
                self.note(child.number, *child.done().log, sep="\n    ")
        if dying is not None:
            self.come_back(dying, between)
        if self.both and self.rng.random() < 0.3:
            self.meet()

    def die(self, child: Child, between: bool) -> None:
        """It is killed: at rest, or at some moment of its step."""
        left = self.rng.random() ** 2 * 0.03
        while not between and child.hear(left) and not isinstance(child.heard[-1], Done):
            left = self.rng.random() ** 2 * 0.005
        child.kill()
        self.alive.remove(child)
        if (done := child.named(Done)) is not None:
            child.last = done
        told = [type(one).__name__ for one in child.heard]
        started = child.named(Started)
        self.note("dies", child.number, "between" if between else started and started.step, told)

    def come_back(self, dead: Child, between: bool) -> None:
        """Another process starts in its place, and finds what it must."""
        at_rest = between or dead.named(Done) is not None
        self.compare_said(dead)
        found = self.start()
        self.note("finds", sorted(found.last.pending))
        if self.both:
            return
        if at_rest:
            before = dead.last.pending, dead.last.full
            assert (found.last.pending, found.last.full) == before, f"\n{before}\n{found.last}"
        else:
            self.compare_pending(dead, found.last)

    def compare_pending(self, dead: Child, now: State) -> None:
        """It was killed at it. Where the user has saved changes of the same lines that no journal
        tells of, that is a conflict: nobody's lines are lost, or come back, in such a file.
        """
        last, disk = dead.last, self.on_disk()
        apart = _conflicts(last) | _conflicts(now)
        found = now.pending
        started = dead.named(Started)
        step = started.step if started is not None else ""
        fresh = {line for line in found - last.pending if _number(line) <= last.words}
        fresh = {line for line in fresh if line[0] not in apart}
        if step not in ("unreject", "restore"):
            added = {line for line in fresh if line[1].startswith("+") and _number(line)}
            assert not added, f"from nowhere: {added}"
        if step not in ("unreject", "restore", "decide"):
            agents = {one for one in disk if one[1].startswith("+agent") and one[0] not in apart}
            kept = {one for one in agents if one in last.pending or _number(one) > last.words}
            assert kept <= found, f"lost: {kept - found}"

    def compare_said(self, dead: Child) -> None:
        """The history has what was said as it was written, or as it was to be written."""
        states = [state for state in (dead.last, dead.named(Acted)) if state is not None]
        said, prompts = remembered.read(self.root / "history.db")
        others = {first for child in self.alive for first in child.last.said}
        ours = {first: one for first, one in said.items() if first not in others}
        wanted = [self.said | state.said for state in states]
        assert ours in wanted, f"\nfound  {ours}\nwanted {wanted}"
        assert len(prompts) == len(set(prompts)), "a prompt twice"
        mine = [one for one in prompts if one in set(states[-1].prompts)]
        assert mine in [state.prompts for state in states], f"{mine}: {[s.prompts for s in states]}"
        self.said = ours
        self.prompts.update(mine)
        assert self.prompts <= set(prompts), "prompts are gone"

    def meet(self) -> None:
        """Both have heard of each other."""
        for child in (*self.alive, *self.alive):
            child.tell(MEET)
            child.done()
        first, *others = (child.last.pending for child in self.alive)
        self.note("meet", sorted(first))
        told = [child.last.full[0] for child in self.alive]
        assert all(one == first for one in others), f"not the same: {told} {sorted(self.on_disk())}"


def _conflicts(state: State) -> set[str]:
    """The files in which both sides have changed the same lines."""
    return {path for path, (_, conflict, _) in state.full[0].items() if conflict}


def _number(line: Line) -> int:
    """Which line it is; 0 for an empty one."""
    return int(line[1].rpartition(" ")[2].strip("+-") or 0)


def run(seed: int, both: bool = False, steps: int = STEPS) -> str:
    """One history in a directory of its own; why it failed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        parent = Parent(Path(os.path.realpath(root)), seed, both)
        try:
            for _ in range(steps):
                parent.step()
            for child in parent.alive:
                child.tell(END)
                child.process.join(PATIENCE_S)
        except AssertionError as error:
            return "\n".join([*parent.log, str(error)])
        finally:
            for child in parent.alive:
                child.process.kill()
    return ""


def main(words: Sequence[str]) -> int:
    """Run histories from a seed on; the number of those that failed."""
    first, steps, count = (int(word) for word in [*words[:3], str(STEPS), "1"][:3])
    failed = 0
    for seed in range(first, first + count):
        why = run(seed, "both" in words, steps)
        if why:
            failed += 1
            print(seed, "FAILED", why[-6000:], sep="\n", flush=True)
    print(f"{count} histories, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
