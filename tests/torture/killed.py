"""Journal and history survive SIGKILL: real processes on real files, killed at any moment.

`python -m tests.torture.killed SEED STEPS COUNT` runs COUNT histories and prints the steps of those
that fail. With a final `both`, two processes work in one folder at the same time.

On request, a process takes a step of `reborn.py` and one of `remembered.py`, and reports when that
is written. The process is killed between two steps or during one. Then another process starts in
the same place.

- All state that it reported as written is there, unchanged.
- The interrupted step is there entirely or not at all, and nothing is there twice. An agent's line
  that has reached its file is pending.
- Two processes show the same after they have exchanged their journals. A hunk that one has decided
  is pending in neither.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from acp_nvim.edits.text import Text
from tests.torture import histories, remembered
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
    """A process that is alive, and the last state that it reported as written."""

    def __init__(self, root: Path, number: int, seed: int, both: bool) -> None:
        self.pipe, theirs = _processes.Pipe()
        args = str(root), number, seed, theirs, both
        self.process = _processes.Process(target=live, args=args)
        self.process.start()
        theirs.close()
        self.number = number
        self.messages: list[Any] = []
        """Messages since the last request."""
        self.last: State = self.done()

    def send(self, what: Any) -> None:
        """Send a request."""
        self.messages.clear()
        self.pipe.send(what)

    def receive(self, seconds: float) -> bool:
        """Wait for a message, and return whether one came."""
        if not self.pipe.poll(seconds):
            return False
        try:
            self.messages.append(self.pipe.recv())
        except (EOFError, OSError):
            return False  # the process is dead
        if isinstance(self.messages[-1], Failed):
            raise AssertionError(self.messages[-1].why)
        return True

    def done(self) -> State:
        """Wait until the request is done, and return the state."""
        while self.receive(PATIENCE_S):
            if isinstance(self.messages[-1], Done):
                self.last = self.messages[-1]
                return self.last
        raise AssertionError(f"process {self.number} is not done: {self.messages}")

    def kill(self) -> None:
        """Kill the process, then read the messages that it sent before."""
        self.process.kill()
        self.process.join()
        while self.receive(0):
            pass
        self.pipe.close()

    def message_of(self, kind: type[Any]) -> Any:
        """Return the message of this kind, if there is one."""
        return next((one for one in self.messages if type(one) is kind), None)


class Parent:
    """A folder and the processes that work in it."""

    def __init__(self, root: Path, seed: int, both: bool) -> None:
        self.root = root
        self.seed = seed
        self.both = both
        self.rng = random.Random(seed)
        self.log: list[str] = []
        self.numbers = 0
        self.transcripts: dict[str, list[Any]] = {}
        """Transcripts of dead processes by their first prompts."""
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
        """Return the lines of all files."""
        found = {name: self.root / "work" / name for name in FILES}
        return {
            (name, f"+{line}")
            for name, path in found.items()
            if path.exists()
            for line in path.read_text().splitlines()
        }

    # ---- steps

    def step(self) -> None:
        """Let each process take a step. One of them may be killed."""
        dying = self.rng.choice(self.alive) if self.rng.random() < 0.25 else None
        between = self.rng.random() < 0.3
        files = self.rng.sample(FILES, len(FILES))
        for at, child in enumerate(self.alive):
            # two processes never write one file at the same time
            if child is not dying or not between:
                child.send(files[at :: len(self.alive)])
        if dying is not None:
            self.die(dying, between)
        for child in self.alive:
            if child is not dying and child.messages[-1:] != [child.last]:
                self.note(child.number, *child.done().log, sep="\n    ")
        if dying is not None:
            self.replace(dying, between)
        if self.both and self.rng.random() < 0.3:
            self.meet()

    def die(self, child: Child, between: bool) -> None:
        """Kill a process between two steps, or at some moment of its step."""
        left = self.rng.random() ** 2 * 0.03
        while not between and child.receive(left) and not isinstance(child.messages[-1], Done):
            left = self.rng.random() ** 2 * 0.005
        child.kill()
        self.alive.remove(child)
        if (done := child.message_of(Done)) is not None:
            child.last = done
        told = [type(one).__name__ for one in child.messages]
        started = child.message_of(Started)
        self.note("dies", child.number, "between" if between else started and started.step, told)

    def replace(self, dead: Child, between: bool) -> None:
        """Start a process in place of a dead one, and check the state that it finds."""
        at_rest = between or dead.message_of(Done) is not None
        self.compare_history(dead)
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
        """Compare pending lines before and after a death.

        A user's saved change to the same lines, if no journal has it, makes a conflict. In such a
        file no lines are lost, and none come back.
        """
        last, disk = dead.last, self.on_disk()
        conflicted = _conflicts(last) | _conflicts(now)
        found = now.pending
        started = dead.message_of(Started)
        step = started.step if started is not None else ""
        fresh = {line for line in found - last.pending if _number(line) <= last.words}
        fresh = {line for line in fresh if line[0] not in conflicted}
        if step not in ("unreject", "restore"):
            added = {line for line in fresh if line[1].startswith("+") and _number(line)}
            assert not added, f"from nowhere: {added}"
        if step not in ("unreject", "restore", "decide"):
            agents = {
                one for one in disk if one[1].startswith("+agent") and one[0] not in conflicted
            }
            kept = {one for one in agents if one in last.pending or _number(one) > last.words}
            assert kept <= found, f"lost: {kept - found}"

    def compare_history(self, dead: Child) -> None:
        """Compare the history with the transcripts that were written or about to be written."""
        states = [state for state in (dead.last, dead.message_of(Acted)) if state is not None]
        said, prompts = remembered.read(self.root / "history.db")
        others = {first for child in self.alive for first in child.last.transcripts}
        ours = {first: one for first, one in said.items() if first not in others}
        wanted = [self.transcripts | state.transcripts for state in states]
        assert ours in wanted, f"\nfound  {ours}\nwanted {wanted}"
        assert len(prompts) == len(set(prompts)), "a prompt twice"
        mine = [one for one in prompts if one in set(states[-1].prompts)]
        assert mine in [state.prompts for state in states], f"{mine}: {[s.prompts for s in states]}"
        self.transcripts = ours
        self.prompts.update(mine)
        assert self.prompts <= set(prompts), "prompts are gone"

    def meet(self) -> None:
        """Let both processes exchange their journals."""
        for child in (*self.alive, *self.alive):
            child.send(MEET)
            child.done()
        first, *others = (child.last.pending for child in self.alive)
        self.note("meet", sorted(first))
        told = [child.last.full[0] for child in self.alive]
        assert all(one == first for one in others), f"not the same: {told} {sorted(self.on_disk())}"


def _conflicts(state: State) -> set[str]:
    """Return the files with a conflict."""
    return {path for path, (_, conflict, _) in state.full[0].items() if conflict}


def _number(line: Line) -> int:
    """Return the number of a line; 0 for an empty one."""
    return int(line[1].rpartition(" ")[2].strip("+-") or 0)


def run(seed: int, both: bool = False, steps: int = STEPS) -> str:
    """Run one history in its own directory and return the failure, or ""."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        parent = Parent(Path(os.path.realpath(root)), seed, both)
        try:
            for _ in range(steps):
                parent.step()
            for child in parent.alive:
                child.send(END)
                child.process.join(PATIENCE_S)
        except AssertionError as error:
            return "\n".join([*parent.log, str(error)])
        finally:
            for child in parent.alive:
                child.process.kill()
    return ""


if __name__ == "__main__":
    sys.exit(histories.main(run, STEPS))
