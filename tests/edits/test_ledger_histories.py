"""Random histories of the ledger: whatever happens in whatever order, nobody's text is lost.

A history is decoded from bytes, one or a few for each step, so that ten thousand take seconds and
a failing one shrinks to its shortest form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_nvim.edits.hunks import apply
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.text import Text, from_keys, from_lines, keys
from tests.support.ledgers import accept_all, hunk_at, reject_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from acp_nvim.edits.pending import Pending, Restoration

PATHS = ("/a", "/b", "/c")
fast = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow], max_examples=10_000
)


class Choices:
    """Numbers out of bytes."""

    def __init__(self, choices: bytes) -> None:
        self.choices = iter(choices)
        self.more = True

    def pick(self, count: int) -> int:
        """A number below ``count``; zeros when the choices are used up."""
        choice = next(self.choices, None)
        self.more = choice is not None
        return (choice or 0) % count


class World(Choices):
    """Files as buffer and disk show them, a ledger that is told of each change, and the checks."""

    def __init__(self, choices: bytes) -> None:
        super().__init__(choices)
        self.count = 0
        self.ledger = Ledger()
        self.files: dict[str, Text | None] = {
            "/a": from_lines([f"o{row}" for row in range(self.pick(6))], bool(self.pick(4))),
            "/b": from_lines(["o7", "o8", "o9"]),
            "/c": None,
        }

    def line(self, author: str) -> str:
        """The agent repeats itself at times, the user never, so that a line can be followed."""
        self.count += 1
        return "same" if author == "a" and self.pick(3) == 0 else f"{author}{self.count}"

    def spliced(self, text: Text, author: str) -> Text:
        lines = list(text.lines)
        start = self.pick(len(lines) + 1)
        end = min(len(lines), start + self.pick(3))
        lines[start:end] = [self.line(author) for _ in range(self.pick(3))]
        return from_lines(lines, text.eol != (self.pick(6) == 5))

    def base(self, path: str) -> Text | None:
        """What rejecting everything would leave at the path."""
        entry = self.ledger.get(path)
        return entry.base if entry else self.files[path]

    def carry_out(self, steps: Iterable[Restoration]) -> None:
        for step in steps:
            assert self.files[step.path] == step.before
            self.files[step.path] = step.after

    # Steps; each checks what must hold for it alone

    def agent_writes(self, path: str) -> None:
        before = self.files[path]
        after = self.spliced(before, "a") if before else from_lines([self.line("a")])
        self.files[path] = after
        self.ledger.agent_wrote(path, before, after)

    def user_edits(self, path: str, told: bool = True) -> None:
        before, base = self.files[path], self.base(path)
        if before is None:
            return
        after = self.files[path] = self.spliced(before, "u")
        if not told:  # the agent's next write tells of it
            self.files[path] = written = self.spliced(after, "a")
            self.ledger.agent_wrote(path, after, written)
        else:
            self.ledger.user_edited(path, after)
        gone = own(base) - own(self.base(path))
        assert gone <= own(before) - own(after), "the base lost a line that the user left alone"
        assert own(self.base(path)) - own(base) <= own(after) - own(before)

    def user_edits_untold(self, path: str) -> None:
        self.user_edits(path, told=False)

    def formatter(self, path: str) -> None:
        before = self.files[path]
        if before is None:
            return
        after = self.files[path] = self.spliced(before, "u")
        self.ledger.formatted(path, before, after)

    def agent_deletes(self, path: str) -> None:
        before = self.files[path]
        if before is not None:
            self.files[path] = None
            self.ledger.agent_deleted(path, before)

    def agent_renames(self, path: str) -> None:
        new = PATHS[self.pick(3)]
        text, replaced = self.files[path], self.files[new]
        if text is not None and new != path:
            self.files[new], self.files[path] = text, None
            self.ledger.agent_renamed(path, new, text, replaced=replaced)

    def decides(self, path: str) -> None:
        entry = self.ledger.get(path)
        if entry is None:
            return
        hunks = entry.hunks
        hunk = hunks[self.pick(len(hunks))] if hunks and self.pick(2) else None
        if self.pick(2):
            files = dict(self.files)
            assert self.ledger.accept(path, hunk) == []
            assert self.files == files
            return
        before = dict(self.files), dict(self.ledger._files)
        self.carry_out(self.ledger.reject(path, hunk))
        if hunk is not None and entry.base is not None:
            assert self.base(path) == entry.base
        if self.pick(2):
            self.unrejects()
            assert (dict(self.files), dict(self.ledger._files)) == before

    def unrejects(self, _: str = "") -> None:
        present = {path: self.files[path] for path in self.ledger.unreject_paths()}
        self.carry_out(self.ledger.unreject(present))

    def commits(self, path: str) -> None:
        text = self.files[path]
        entry = self.ledger.get(path)
        if text is not None:
            self.ledger.committed(path, self.spliced(text, "a"))
        if entry is not None and entry.live == text and self.pick(2):
            self.ledger.committed(path, text)
            assert self.ledger.get(path) is None

    def run(self) -> None:
        agents: list[Callable[[str], None]] = [
            *(self.agent_writes, self.agent_writes, self.agent_writes),
            *(self.agent_deletes, self.agent_renames),
        ]
        steps: list[Callable[[str], None]] = [
            *agents,
            *(self.user_edits, self.user_edits, self.user_edits_untold),
            *(self.decides, self.decides, self.decides),
            *(self.unrejects, self.formatter, self.commits),
        ]
        while self.more:
            choice = self.pick(3 * len(steps))
            step, rejected = steps[choice // 3], self.rejected()
            worked_on = self.worked_on()
            step(PATHS[choice % 3])
            self.check()
            if step in agents and not (worked_on or self.worked_on()):
                assert self.rejected() == rejected, "the agent changed what the user accepted"

    def check(self) -> None:
        for entry in self.ledger.files():
            assert entry.live == self.files[entry.path]
            assert not entry.settled
            for text in (entry.base, entry.live):
                assert text is None or (text.lines and from_keys(keys(text)) == text)
            if entry.base and entry.live:
                assert apply(entry.base.lines, entry.hunks) == list(entry.live.lines)

    def check_ends(self) -> None:
        """Accept all changes nothing; reject all gives the bases, and can be taken back."""
        entries = self.ledger.files()
        before = dict(self.files)
        expected = self.rejected()
        self.carry_out(reject_all(self.ledger))
        assert self.files == expected
        assert self.ledger.files() == []
        if entries:
            self.unrejects()
        assert sorted(self.ledger.files(), key=by_path) == sorted(entries, key=by_path)
        assert self.files == before
        assert accept_all(self.ledger) == []
        assert self.ledger.files() == []
        assert self.files == before

    def worked_on(self) -> bool:
        """Some file of the agent's holds the user's work: a reject would keep it as it is."""
        return any(entry.touched for entry in self.ledger.files())

    def rejected(self) -> dict[str, Text | None]:
        """The files as rejecting everything would leave them."""
        files = dict(self.files)
        for entry in self.ledger.files():
            if entry.origin is not None:
                files[entry.path] = None
            if not entry.touched:
                files[entry.origin or entry.path] = entry.base
        return files


def own(text: Text | None) -> set[str]:
    """The lines that were there at first or that the user wrote."""
    return {line for line in text.lines if line[:1] in {"o", "u"}} if text else set()


def by_path(entry: Pending) -> str:
    return entry.path


@fast
@given(st.binary(min_size=4, max_size=60))
def test_whatever_happens_nothing_is_lost(choices: bytes) -> None:
    world = World(choices)
    world.run()
    world.check_ends()


class Blocks(Choices):
    """A file of blocks between lines that nobody touches: here one can say without any diff what
    each decision must give. ``base`` and ``live`` are the model."""

    def __init__(self, choices: bytes) -> None:
        super().__init__(choices)
        self.count = 0
        self.ledger = Ledger()
        self.base = [self.fresh() for _ in range(2 + self.pick(5))]
        self.live = list(self.base)
        self.rejected: dict[tuple[Text, int], tuple[list[str], list[str]]] = {}
        """Texts before a reject, each block that was pending in them, and its two sides."""

    def fresh(self) -> list[str]:
        self.count += 1
        return [f"{self.count}.{row}" for row in range(self.pick(4))]

    def text(self, blocks: list[list[str]]) -> Text:
        return from_lines(
            line for at, block in enumerate(blocks) for line in (f"---{at}", *block, f"==={at}")
        )

    def set_live(self, at: int, block: list[str]) -> tuple[Text, Text]:
        before = self.text(self.live)
        self.live[at] = block
        return before, self.text(self.live)

    def step(self) -> None:
        at, action = self.pick(len(self.base)), self.pick(5)
        pending = self.base[at] != self.live[at]
        if action == 0:
            before, after = self.set_live(at, self.fresh())
            self.ledger.agent_wrote("/f", before, after)
        elif action in {1, 4} and not pending:
            before, after = self.set_live(at, self.fresh())
            if (after, at) not in self.rejected:  # else a reject is undone: pending again
                self.base[at] = self.live[at]
            if action == 1:
                self.ledger.user_edited("/f", after)
            else:  # nobody tells of it: the agent's next write shows it
                other = (at + 1) % len(self.base)
                self.ledger.agent_wrote("/f", *self.set_live(other, self.fresh()))
        elif pending and action != 1:
            before = self.text(self.live)
            hunk = hunk_at(self.ledger, "/f", before.lines.index(f"---{at}") + 1)
            assert hunk is not None
            if action == 2:
                kept = self.base[at], self.live[at]
                self.rejected = {key: it for key, it in self.rejected.items() if it != kept}
                self.base[at] = self.live[at]
                self.ledger.accept("/f", hunk)
            else:
                blocks = enumerate(zip(self.base, self.live, strict=True))
                self.rejected |= {(before, n): sides for n, sides in blocks if sides[0] != sides[1]}
                self.live[at] = self.base[at]
                (step,) = self.ledger.reject("/f", hunk)
                assert (step.before, step.after) == (before, self.text(self.live))

    def check(self) -> None:
        entry = self.ledger.get("/f")
        pending = [at for at, block in enumerate(self.base) if block != self.live[at]]
        assert (entry is not None) == bool(pending)
        if entry is not None:
            assert (entry.base, entry.live) == (self.text(self.base), self.text(self.live))
            assert len(entry.hunks) == len(pending)


@fast
@given(st.binary(min_size=4, max_size=60))
def test_decisions_in_any_order_equal_the_model(choices: bytes) -> None:
    blocks = Blocks(choices)
    while blocks.more:
        blocks.step()
        blocks.check()
    expected = blocks.text(blocks.base)
    for step in reject_all(blocks.ledger):
        assert (step.before, step.after) == (blocks.text(blocks.live), expected)
