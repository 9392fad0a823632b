"""Like `wide`, with buffers that save themselves and formatters that run on save.

`python -m tests.torture.saving SEED STEPS COUNT`
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Sequence
from typing import Any, Final

from acp_nvim.edits.pending import Restoration
from acp_nvim.edits.text import EMPTY, Text
from tests.support.editor import Editor
from tests.support.formatters import FORMATTERS
from tests.support.waiting import until
from tests.torture.basic import main
from tests.torture.wide import Wide
from tests.torture.world import SHOW

AUTOSAVE: Final = "autocmd TextChanged,InsertLeave,BufLeave * {} silent! update"
IN_WINDOW: Final = """
local tick = vim.b.changedtick
assert(loadstring(...))()
return vim.b.changedtick ~= tick
"""


class Saving(Wide):
    """A history with an autosave, nested or not, a formatter that merges blanks, or both."""

    def __init__(self, editor: Editor, seed: int) -> None:
        chance = random.Random(seed)
        self.autosave = chance.choice(["", "plain", "++nested", "++nested"])
        formatters = ["", "pre", "edit", "checktime"] if self.autosave else ["pre", "edit"]
        self.formatter = chance.choice(formatters) if self.autosave != "plain" else ""
        self.messy = False
        commands = FORMATTERS.get(self.formatter, "")
        if self.autosave:
            commands += "\n" + AUTOSAVE.format(self.autosave.removeprefix("plain"))
        editor.lua("vim.api.nvim_exec2(..., {})", commands)
        super().__init__(editor, seed)
        self.note("autosave", self.autosave or "off", "formatter", self.formatter or "none")

    def word(self, who: str) -> str:
        """Return a new line, sometimes one that the formatter changes."""
        found = super().word(who)
        return found.replace(" ", "   ") if self.messy and self.formatter else found

    def changed(self, text: Text, who: str) -> Text:
        """Return a changed text, in which the user's lines have not been formatted."""
        self.messy = self.messy or who == "user"
        try:
            new = super().changed(text, who)
        finally:
            self.messy = False
        return new if who == "agent" or self.is_told_at_once(text, new) else self.formatted(new)

    def is_told_at_once(self, text: Text, new: Text) -> bool:
        """Return whether the order of two reports does not matter: the user's edit, and the
        formatter's change to it, which widens a hunk that it touches.
        """
        entry = next((one for one in self.ledger.files() if one.live == text), None)
        if entry is None:
            return True
        conflicted = entry.edited(new).edited(self.formatted(new), formatter=True)
        return conflicted.hunks == entry.edited(self.formatted(new)).hunks

    def formatted(self, text: Text) -> Text:
        """Return a text as the formatter leaves it."""
        if not self.formatter:
            return text
        return Text(tuple(re.sub("  +", " ", line) for line in text.lines), text.eol)

    def settle(self, lives: dict[str, Text | None], disks: dict[str, Text | None]) -> None:
        """Wait until editor and disk equal the model and clean buffers equal their files."""
        super().settle(lives, {} if self.autosave else disks)
        until(lambda: not self.parted(), what=f"{self.parted()} not as their buffers")

    def follow_editor(self) -> None:
        """Follow the user twice, since a file that is formatted on disk is read again after the
        save.
        """
        super().follow_editor()
        super().follow_editor()

    def parted(self) -> list[str]:
        """Return the paths of files that differ from their clean buffers."""
        self.look()
        return [
            path
            for path, buffer in self.buffers.items()
            if not buffer.modified
            and path in self.paths
            and self.disk(path) not in (None, EMPTY, buffer.text)
        ]

    def as_user(self, what: str, path: str, code: str) -> None:
        """Run the user's code in a window, since autosaves depend on windows."""
        self.note("user", what, path)
        self.editor.lua(SHOW, path)
        if self.editor.lua(IN_WINDOW, code) and self.autosave:
            self.editor.wait("not vim.bo.modified")
        self.follow_editor()

    def both_at_once(self) -> None:
        """Skip combinations that cannot work: an autosave that is not nested asks before it
        overwrites the agent's change, and a formatter and an agent that edit a file on disk at once
        lose an edit.
        """
        if self.autosave != "plain" and self.formatter in ("", "pre"):
            super().both_at_once()
            if self.autosave:
                self.editor.wait("not vim.bo.modified")  # the autosave waits for the host

    def written(self, before: Text, clean: bool) -> Text:
        """Return a text that the save will format."""
        self.messy = clean
        return super().written(before, clean)

    def saved(self, path: str, text: Text) -> Text:
        """Return the text after the editor has saved it."""
        found = self.formatted(text)
        if found != text:
            self.ledger.record_formatting(path, text, found)
        return found

    def decide_in_editor(
        self, verb: str, args: dict[str, Any], steps: Sequence[Restoration]
    ) -> None:
        """Make the host decide. Restored text is saved, so it is formatted too."""
        done: list[Restoration] = []
        for step in steps:
            text, kept = step.after, step.before == step.after
            if text is not None and not kept and self.clean(step.path):
                text = self.saved(step.path, text)
            done.append(Restoration(step.path, step.before, text))
        super().decide_in_editor(verb, args, done)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Saving))
