"""Random histories of the ledger: no text is lost, whatever the order of steps.

A history is decoded from bytes, one or a few for each step, so that ten thousand take seconds and a
failing one shrinks to its shortest form.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.text import Text, from_lines
from tests.support.ledger_histories import Choices, World, fast
from tests.support.ledger_shorthand import hunk_at, reject_all


@fast
@given(st.binary(min_size=4, max_size=60))
def test_random_histories_lose_no_text(choices: bytes) -> None:
    world = World(choices)
    world.run()
    world.check_ends()


class Blocks(Choices):
    """A file of blocks between unchanged lines, for which the result of each decision is known
    without a diff. ``base`` and ``live`` are the model.
    """

    def __init__(self, choices: bytes) -> None:
        super().__init__(choices)
        self.count = 0
        self.ledger = Ledger()
        self.base = [self.fresh() for _ in range(2 + self.pick(5))]
        self.live = list(self.base)
        self.rejected: dict[tuple[Text, int], tuple[list[str], list[str]]] = {}
        """For each text before a reject and each block pending in it, the two sides of the
        block.
        """

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
            self.ledger.record_agent_write("/f", before, after)
        elif action in {1, 4} and not pending:
            before, after = self.set_live(at, self.fresh())
            if (after, at) not in self.rejected:  # otherwise a reject is undone: pending again
                self.base[at] = self.live[at]
            if action == 1:
                self.ledger.record_user_edit("/f", after)
            else:  # not reported: the agent's next write shows it
                other = (at + 1) % len(self.base)
                self.ledger.record_agent_write("/f", *self.set_live(other, self.fresh()))
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


class UndoTree(Choices):
    """A file whose user moves between its texts like Neovim's undo tree.

    The text consists of blocks between unchanged lines. A block is the number of its content.
    """

    def __init__(self, choices: bytes) -> None:
        super().__init__(choices)
        self.ledger = Ledger()
        self.contents: list[list[str]] = []
        self.agents: set[int] = set()
        """Contents by the agent that were never accepted."""
        self.replaced: set[int] = set()
        """Contents by the agent in whose place a later one was accepted: pending or accepted."""
        self.texts = [[self.fresh("o") for _ in range(2 + self.pick(2))]]
        self.now = 0
        """Number of the present text."""

    def fresh(self, author: str) -> int:
        n = len(self.contents)
        rows = self.pick(4) if author == "a" else 1 + self.pick(3)
        self.contents.append([f"{author}{n}.{row}" for row in range(rows)])
        self.agents |= {n} if author == "a" else set()
        return n

    @property
    def blocks(self) -> list[int]:
        return self.texts[self.now]

    def text(self, blocks: list[int]) -> Text:
        rows = [[f"---{at}", *self.contents[n], f"==={at}"] for at, n in enumerate(blocks)]
        return from_lines(line for block in rows for line in block)

    def rows(self, text: Text | None, at: int) -> list[str]:
        """Return the rows of a block."""
        assert text is not None
        return list(text.lines[text.lines.index(f"---{at}") + 1 : text.lines.index(f"==={at}")])

    def is_pending(self, at: int) -> bool:
        entry = self.ledger.get("/f")
        return entry is not None and self.rows(entry.base, at) != self.rows(entry.live, at)

    def change(self, contents: dict[int, int]) -> tuple[Text, Text]:
        """Change blocks, and return the text before and after."""
        before = self.text(self.blocks)
        self.texts.append([contents.get(at, content) for at, content in enumerate(self.blocks)])
        self.now = len(self.texts) - 1
        return before, self.text(self.blocks)

    def step(self) -> None:
        at, action, entry = self.pick(len(self.blocks)), self.pick(8), self.ledger.get("/f")
        if action < 3:
            self.ledger.record_agent_write("/f", *self.change({at: self.fresh("a")}))
        elif action < 6:
            self.now = max(0, len(self.texts) - 1 - self.pick(30))
            self.ledger.record_user_edit("/f", self.text(self.blocks), is_undo=True)
        elif action == 6 and entry is not None and not self.is_pending(at):
            self.ledger.record_user_edit("/f", self.change({at: self.fresh("u")})[1])
        elif action == 7 and entry is not None:
            pending = [at for at in range(len(self.blocks)) if self.is_pending(at)]
            hunk = entry.hunks[self.pick(len(entry.hunks))] if self.pick(2) else None
            self.decide(pending, hunk)

    def decide(self, pending: list[int], hunk: Hunk | None) -> None:
        if self.pick(2):
            self.ledger.accept("/f", hunk)
            for at in pending:
                if not self.is_pending(at):
                    self.agents.discard(self.blocks[at])
                    self.replaced |= {blocks[at] for blocks in self.texts} & self.agents
            return
        (step,) = self.ledger.reject("/f", hunk)
        restored = {}
        for at in pending:
            rows = self.rows(step.after, at)
            if rows != self.contents[self.blocks[at]]:
                earlier = {blocks[at] for blocks in self.texts} - (self.agents - self.replaced)
                restored[at] = max(n for n in earlier if self.contents[n] == rows)
        assert self.change(restored) == (step.before, step.after)

    def check(self) -> None:
        for at, content in enumerate(self.blocks):
            same = {b[at] for b in self.texts if self.contents[b[at]] == self.contents[content]}
            if same <= self.agents - self.replaced:
                assert self.is_pending(at), "a line of the agent counts as the user's"
            elif not same & self.agents:
                assert not self.is_pending(at), "a line of the user is pending"


@fast
@given(st.binary(min_size=30, max_size=120))
def test_authors_stay_after_undo_and_redo(choices: bytes) -> None:
    tree = UndoTree(choices)
    while tree.more:
        tree.step()
        tree.check()
