"""Random histories of a ledger, decoded from bytes: `World(choices).run()` checks each step.

One or a few bytes are a step, so that ten thousand histories take seconds and a failing one shrinks
to its shortest form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

from acp_nvim.edits.hunks import apply
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.text import Text, from_keys, from_lines, keys
from tests.support.ledger_shorthand import accept_all, reject_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from acp_nvim.edits.pending import Pending, Restoration

PATHS = ("/a", "/b", "/c")
fast = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow], max_examples=1_200
)


class Choices:
    """Numbers decoded from bytes."""

    def __init__(self, choices: bytes) -> None:
        self.choices = iter(choices)
        self.more = True

    def pick(self, count: int) -> int:
        """Return a number below ``count``; 0 when the choices are used up."""
        choice = next(self.choices, None)
        self.more = choice is not None
        return (choice or 0) % count


class World(Choices):
    """Files in buffer and on disk, a ledger that gets each change, and the checks."""

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
        """Return a line. The agent sometimes repeats a line, the user never, so that each line can
        be traced.
        """
        self.count += 1
        return "same" if author == "a" and self.pick(3) == 0 else f"{author}{self.count}"

    def spliced(self, text: Text, author: str) -> Text:
        lines = list(text.lines)
        start = self.pick(len(lines) + 1)
        end = min(len(lines), start + self.pick(3))
        lines[start:end] = [self.line(author) for _ in range(self.pick(3))]
        return from_lines(lines, text.eol != (self.pick(6) == 5))

    def base(self, path: str) -> Text | None:
        """Return the text at the path after a reject of everything."""
        entry = self.ledger.get(path)
        return entry.base if entry else self.files[path]

    def carry_out(self, steps: Iterable[Restoration]) -> None:
        for step in steps:
            assert self.files[step.path] == step.before
            self.files[step.path] = step.after

    # Steps; each checks its own invariants

    def agent_writes(self, path: str) -> None:
        before = self.files[path]
        after = self.spliced(before, "a") if before else from_lines([self.line("a")])
        self.files[path] = after
        self.ledger.record_agent_write(path, before, after)

    def user_edits(self, path: str, is_reported: bool = True) -> None:
        before, base = self.files[path], self.base(path)
        if before is None:
            return
        after = self.files[path] = self.spliced(before, "u")
        if not is_reported:  # the agent's next write reports it
            self.files[path] = written = self.spliced(after, "a")
            self.ledger.record_agent_write(path, after, written)
        else:
            self.ledger.record_user_edit(path, after)
        removed = own(base) - own(self.base(path))
        assert removed <= own(before) - own(after), "the base lost a line that the user left alone"
        assert own(self.base(path)) - own(base) <= own(after) - own(before)

    def user_edits_without_report(self, path: str) -> None:
        self.user_edits(path, is_reported=False)

    def formatter(self, path: str) -> None:
        before = self.files[path]
        if before is None:
            return
        after = self.files[path] = self.spliced(before, "u")
        self.ledger.record_formatting(path, before, after)

    def agent_deletes(self, path: str) -> None:
        before = self.files[path]
        if before is not None:
            self.files[path] = None
            self.ledger.record_agent_deletion(path, before)

    def agent_renames(self, path: str) -> None:
        new = PATHS[self.pick(3)]
        text = self.files[path]
        if text is not None and self.files[new] is None:
            self.files[new], self.files[path] = text, None
            self.ledger.record_agent_move(path, new, text)

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
            self.ledger.accept_committed(path, self.spliced(text, "a"))
        if entry is not None and entry.live == text and self.pick(2):
            self.ledger.accept_committed(path, text)
            assert self.ledger.get(path) is None

    def run(self) -> None:
        agents: list[Callable[[str], None]] = [
            *(self.agent_writes, self.agent_writes, self.agent_writes),
            *(self.agent_deletes, self.agent_renames),
        ]
        steps: list[Callable[[str], None]] = [
            *agents,
            *(self.user_edits, self.user_edits, self.user_edits_without_report),
            *(self.decides, self.decides, self.decides),
            *(self.unrejects, self.formatter, self.commits),
        ]
        while self.more:
            choice = self.pick(3 * len(steps))
            step, rejected = steps[choice // 3], self.rejected()
            worked_on = self.has_users_work()
            step(PATHS[choice % 3])
            self.check()
            if step in agents and not (worked_on or self.has_users_work()):
                assert self.rejected() == rejected, "the agent changed what the user accepted"

    def check(self) -> None:
        for entry in self.ledger.files():
            assert entry.live == self.files[entry.path]
            assert not entry.is_settled
            for text in (entry.base, entry.live):
                assert text is None or (text.lines and from_keys(keys(text)) == text)
            if entry.base and entry.live:
                assert apply(entry.base.lines, entry.hunks) == list(entry.live.lines)

    def check_ends(self) -> None:
        """Check that accepting all changes nothing, and that rejecting all gives the bases and can
        be undone.
        """
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

    def has_users_work(self) -> bool:
        """Return whether a file of the agent's contains the user's work, which a reject would
        keep.
        """
        return any(entry.is_user_edited for entry in self.ledger.files())

    def rejected(self) -> dict[str, Text | None]:
        """Return the files after a reject of everything."""
        files = dict(self.files)
        for entry in self.ledger.files():
            if entry.origin is not None:
                files[entry.path] = None
            if not entry.is_user_edited:
                files[entry.origin or entry.path] = entry.base
        return files


def own(text: Text | None) -> set[str]:
    """Return the lines that were there at first or that the user wrote."""
    return {line for line in text.lines if line[:1] in {"o", "u"}} if text else set()


def by_path(entry: Pending) -> str:
    return entry.path
