"""Like `wide`, with users who restore checkpoints and decide in the review tab.

`python -m tests.torture.returns SEED STEPS COUNT`
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.file_format import Format
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until
from tests.torture.basic import main
from tests.torture.wide import Wide

IN_REVIEW: Final = lua_chunk(__file__, "go_to_review_row")
BASE: Final = lua_chunk(__file__, "base_lines")


class Snapshot(msgspec.Struct):
    """Files, unsaved texts, pending edits and original formats at one time, by path."""

    files: dict[str, bytes | None]
    unsaved: dict[str, Text]
    pending: dict[str, Pending]
    original_formats: dict[str, Format]
    disk_entries: dict[str, Pending | None]


class Returning(Wide):
    """A user who restores and reviews."""

    def __init__(self, editor: Editor, seed: int) -> None:
        super().__init__(editor, seed)
        self.kept: dict[int, list[Snapshot]] = defaultdict(list)
        self.replaced: dict[int, list[Snapshot]] = defaultdict(list)

    def users_steps(self) -> list[Callable[[], None]]:
        return [*super().users_steps(), *[self.restore] * 2, *[self.review] * 3]

    def snapshot(self) -> Snapshot:
        """Return the current state."""
        self.look()
        return Snapshot(
            {path: _read(path) for path in self.paths},
            {path: it.text for path, it in self.buffers.items() if it.modified},
            {entry.path: entry for entry in self.ledger.files()},
            {
                path: first
                for path, first in self.original_formats.items()
                if self.is_format_pending(path)
            },
            self.ledger.disk_entries.all(),
        )

    def begin(self) -> None:
        """Begin a turn, before which a checkpoint is made."""
        self.kept[self.n].append(self.snapshot())
        prompts = self.prompts()
        super().begin()
        until(lambda: self.prompts() > prompts)

    def prompts(self) -> int:
        """Return the number of prompts that the agent has got. Each has its checkpoint."""
        return len(self.agent.traffic.received("session/prompt"))

    # ---- checkpoints

    def restore(self) -> None:
        """Restore the state before a prompt or before the last restore."""
        if self.agent.working or not self.kept[self.n]:
            return
        replaced = self.replaced[self.n]
        present = self.snapshot()
        if replaced and self.rng.random() < 0.5:
            n, wanted = None, replaced.pop()
        else:
            at = self.rng.randrange(len(self.kept[self.n]))
            # the first prompt is from the constructor of the world
            n, wanted = at + 2, self.kept[self.n][at]
            replaced.append(present)
        self.note("restore", n or "undone", "of", self.n)
        args = {"session": self.n, "every": True} | ({} if n is None else {"n": n})
        lives = self.follow(present, wanted)
        told = self.restore_messages()
        self.editor.lua("require('acp.base.host').notify(...)", "restore", args)
        until(lambda: self.restore_messages() > told, what="the restore is told")
        self.settle(lives, {})
        assert {path: _read(path) for path in self.paths} == self.files(wanted)

    def restore_messages(self) -> int:
        """Return the number of messages about restores."""
        return len(re.findall("restored to before|restore was undone", self.editor.messages()))

    def files(self, wanted: Snapshot) -> dict[str, bytes | None]:
        """Return the wanted contents. Files that were created later have none."""
        return {path: wanted.files.get(path) for path in self.paths}

    def follow(self, present: Snapshot, wanted: Snapshot) -> dict[str, Text | None]:
        """Enter the restored files in the ledger and return their live texts."""
        lives: dict[str, Text | None] = {}
        for path, data in self.files(wanted).items():
            text = wanted.unsaved.get(path) or self.text(path, data)
            now = present.unsaved.get(path) or self.text(path, present.files.get(path))
            lives[path] = text
            if present.files.get(path) != data or now != text:
                on_disk = self.ledger.disk_entry(path)
                if present.files.get(path) != data:
                    on_disk = wanted.disk_entries.get(path, wanted.pending.get(path))
                self.ledger.restore(path, text, wanted.pending.get(path))
                if path in wanted.unsaved and text != self.text(path, data):
                    self.ledger.disk_entries.set_both(path, on_disk, self.ledger.get(path))
        laid = self.original_formats | wanted.original_formats
        self.original_formats = {
            path: first for path, first in laid.items() if self.is_format_pending(path)
        }
        return lives

    # ---- the review

    def review(self) -> None:
        """Get a hunk from the base, or put one there."""
        entries = [it for it in self.ledger.files() if self.chosen(it)]
        if not entries:
            return
        entry = self.rng.choice(entries)
        hunk = self.rng.choice(self.chosen(entry))
        verb = self.rng.choice(["do", "dp"])
        self.note(verb, entry.path, hunk)
        opened = len(self.editor.events("AcpReview"))
        self.editor.cmd(f"Acp review {entry.path}")
        until(lambda: len(self.editor.events("AcpReview")) > opened, what="the review is open")
        until(lambda: self.editor.lua(IN_REVIEW, entry.path, hunk.new_start), what="a live side")
        before = self.editor.lua(BASE, entry.path)
        self.editor.keys(verb)
        if verb == "do":
            self.editor.wait("vim.fn.reg_recording() == '' and vim.fn.mode() == 'n'")
            until(lambda: self.changed_live(entry), what="the live text changes")
            self.follow_editor()
        else:
            until(lambda: self.editor.lua(BASE, entry.path) != before, what="the base changes")
            base = self.editor.lua(BASE, entry.path)
            assert entry.base is not None
            self.ledger.set_base(entry.path, Text(tuple(base), entry.base.eol))
            left = self.ledger.get(entry.path)
            assert left is None or left.pending_lines < entry.pending_lines
            self.settle({entry.path: entry.live}, {})
        self.editor.cmd("tabclose")
        self.editor.wait("#vim.api.nvim_list_tabpages() == 1")
        self.settle({}, {})

    def changed_live(self, entry: Pending) -> bool:
        """Return whether the live text of a file differs from that of its entry."""
        self.look()
        return self.live(entry.path) != entry.live

    def chosen(self, entry: Pending) -> list[Hunk]:
        """Return the hunks that diff mode shows with changed lines on both sides."""
        if entry.base is None or entry.live is None or entry.is_conflict or entry.origin:
            return []
        return [h for h in entry.hunks if h.lines and entry.removed_lines(h) != h.lines]


def _read(path: str) -> bytes | None:
    file = Path(path)
    return file.read_bytes() if file.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Returning))
