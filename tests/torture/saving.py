"""As wide, with buffers that save themselves and formatters that run as files are saved.

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
    """An autosave, nested or not, or a formatter that leaves one blank of several, or both."""

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
        """Some words are there to be formatted."""
        found = super().word(who)
        return found.replace(" ", "   ") if self.messy and self.formatter else found

    def changed(self, text: Text, who: str) -> Text:
        """What the user types is not formatted."""
        self.messy = self.messy or who == "user"
        try:
            new = super().changed(text, who)
        finally:
            self.messy = False
        return new if who == "agent" or self.is_told_at_once(text, new) else self.formatted(new)

    def is_told_at_once(self, text: Text, new: Text) -> bool:
        """Whether it does not matter if the host hears of what the user types before it hears of
        what the formatter makes of it, which widens a hunk that it touches.
        """
        entry = next((one for one in self.ledger.files() if one.live == text), None)
        if entry is None:
            return True
        apart = entry.edited(new).edited(self.formatted(new), formatter=True)
        return apart.hunks == entry.edited(self.formatted(new)).hunks

    def formatted(self, text: Text) -> Text:
        """What a save makes of it."""
        if not self.formatter:
            return text
        return Text(tuple(re.sub("  +", " ", line) for line in text.lines), text.eol)

    def settle(self, lives: dict[str, Text | None], disks: dict[str, Text | None]) -> None:
        """Wait until editor and disk are as the model says; what is saved is what is shown."""
        super().settle(lives, {} if self.autosave else disks)
        until(lambda: not self.parted(), what=f"{self.parted()} not as their buffers")

    def settle_as_it_is(self) -> None:
        """What is formatted on disk is read again after it was saved."""
        super().settle_as_it_is()
        super().settle_as_it_is()

    def parted(self) -> list[str]:
        """Files that are not what their clean buffers show."""
        self.look()
        return [
            path
            for path, buffer in self.buffers.items()
            if not buffer.modified
            and path in self.paths
            and self.disk(path) not in (None, EMPTY, buffer.text)
        ]

    def as_user(self, what: str, path: str, code: str) -> None:
        """In a window, as autosaves go by windows."""
        self.note("user", what, path)
        self.editor.lua(SHOW, path)
        if self.editor.lua(IN_WINDOW, code) and self.autosave:
            self.editor.wait("not vim.bo.modified")
        self.settle_as_it_is()

    def both_at_once(self) -> None:
        """An autosave that is not nested asks whether to write over the agent's change, and two who
        edit a file on disk at once, a formatter and the agent, lose what either did.
        """
        if self.autosave != "plain" and self.formatter in ("", "pre"):
            super().both_at_once()
            if self.autosave:
                self.editor.wait("not vim.bo.modified")  # it waits for the host as it saves

    def written(self, before: Text, clean: bool) -> Text:
        """It is formatted as it is saved."""
        self.messy = clean
        return super().written(before, clean)

    def saved(self, path: str, text: Text) -> Text:
        """What a save by us makes of a text."""
        found = self.formatted(text)
        if found != text:
            self.ledger.formatted(path, text, found)
        return found

    def tell(self, verb: str, args: dict[str, Any], steps: Sequence[Restoration]) -> None:
        """What is rejected is saved, and formatted as that."""
        done: list[Restoration] = []
        for step in steps:
            text, kept = step.after, step.before == step.after
            if text is not None and not kept and self.clean(step.path):
                text = self.saved(step.path, text)
            done.append(Restoration(step.path, step.before, text))
        super().tell(verb, args, done)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Saving))
