"""Decisions of the user in a random history, made in the editor and in the model."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from acp_nvim.edits.pending import Restoration
from tests.support.ledger_shorthand import accept_all, reject_all, summary_of
from tests.torture.world import AS_USER, World


class Decisions(World):
    """A history whose user decides hunks, files, everything, and conflicts."""

    def decide(self) -> None:
        """Accept, reject or unreject a hunk, a file or everything."""
        entries = self.ledger.files()
        for entry in entries:
            self.split_or_join(entry.path)
        roll = self.rng.random()
        if roll < 0.15:
            self.unreject()
        elif entries:
            verb = self.rng.choice(["accept", "reject"])
            entry = self.rng.choice(entries)
            if roll < 0.75 and entry.hunks and entry.live is not None and entry.base is not None:
                row = min(self.rng.choice(entry.hunks).new_start, len(entry.live.lines) - 1)
                hunk = entry.hunk_at(row)
                self.note(verb, "hunk", entry.path, row)
                steps = getattr(self.ledger, verb)(entry.path, hunk)
                self.decide_in_editor(
                    verb, {"scope": "hunk", "path": entry.path, "line": row + 1}, steps
                )
            elif roll < 0.9:
                self.note(verb, "file", entry.path)
                steps = getattr(self.ledger, verb)(entry.path)
                self.decide_in_editor(verb, {"scope": "file", "path": entry.path}, steps)
            else:
                self.decide_all(verb)

    def decide_all(self, verb: str) -> None:
        """Decide all pending edits of a session."""
        self.note(verb, "all")
        steps = (accept_all if verb == "accept" else reject_all)(self.ledger, self.n)
        self.decide_in_editor(verb, {"scope": "all", "session": self.n}, steps)

    def unreject(self) -> None:
        """Take the last reject back, unless nothing would show when that is done."""
        self.look()
        present = {path: self.live(path) for path in self.ledger.unreject_paths()}
        trial = copy.deepcopy(self.ledger)
        trial.unreject(present)
        if summary_of(trial) == summary_of(self.ledger):
            return
        self.note("unreject")
        self.decide_in_editor("unreject", {}, self.ledger.unreject(present))

    def decide_in_editor(
        self, verb: str, args: dict[str, Any], steps: Sequence[Restoration]
    ) -> None:
        """Make the host decide, and wait until the texts are those of the model."""
        lives = {step.path: step.after for step in steps}
        disks = {
            step.path: step.after
            for step in steps
            if self.clean(step.path) or step.after is None or self.disk(step.path) is None
        }
        self.editor.lua("require('acp.base.host').notify(...)", verb, args or {"all": True})
        self.settle(lives, disks)

    def resolve(self, path: str) -> None:
        """Resolve a conflict."""
        if self.rng.random() < 0.5:
            self.note("saved over", path)
            self.editor.lua(AS_USER, path, "vim.cmd('silent write')")
            self.look()
            live = self.live(path)
            assert live is not None
            self.ledger.resolve_conflict(path, live)
            self.settle({path: live}, {path: live})
        else:
            self.note("theirs", path)
            self.decide_in_editor(
                "accept", {"scope": "file", "path": path}, self.ledger.accept(path)
            )
            self.ledger.disk_entries.drop(path)  # the buffer has the text of the file
            self.follow_editor()  # the decision, not a later undo, has changed the text
