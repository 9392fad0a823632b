"""Like `wide`, with a host that is killed now and then while the user continues to work.

`python -m tests.torture.mortal SEED STEPS COUNT`
"""

from __future__ import annotations

import sys
import time

from acp_nvim.edits.text import EMPTY
from acp_nvim.features.sessions.session_restore import GRACE_NS
from tests.support import killed_host
from tests.support.editor import Editor
from tests.support.waiting import until
from tests.torture.basic import main
from tests.torture.wide import Wide

QUIET = 40
"""Number of consecutive looks at which the journal must be the same."""


class Mortal(Wide):
    """A history whose host may die between any two steps."""

    def __init__(self, editor: Editor, seed: int) -> None:
        super().__init__(editor, seed)
        self.alive = True
        self.is_reviving = False
        """Whether the next host reads what the user has done without a host."""
        self.cut_until = 0.0

    def step(self) -> None:
        """Take a random step."""
        if not self.alive:
            self.rng.choice([self.user_types, self.user_command, self.user_saves, self.revive])()
        elif self.rng.random() < 0.06:
            self.die()
        else:
            super().step()

    def finish(self) -> None:
        """Finish with a living host."""
        if not self.alive:
            self.revive()
        super().finish()

    def die(self) -> None:
        """Kill the host, during a turn or without one."""
        self.note("the host dies")
        self.settle({}, {})
        if self.agent.working:
            self.editor.wait("require('acp').state().sessions[1].status == 'running'")
        self._quiet()
        ended = len(self.editor.events("AcpTurnEnd"))
        killed_host.kill_host(self.editor)
        if self.agent.working:
            self.cut_until = time.time() + GRACE_NS / 1e9
            self.agent.working = False
            until(lambda: len(self.editor.events("AcpTurnEnd")) > ended)
        self.alive = False
        history = self.ledger.undo_history
        for path in self.paths:  # the next host knows only these texts
            history.replace_file(path, [entry for entry in history.entries if entry.path == path])

    def revive(self) -> None:
        """Start the next host with a command."""
        self.note("the next one lives")
        self.editor.cmd("Acp edits")
        killed_host.wait_host(self.editor)
        self.alive = self.is_reviving = True
        self.follow_editor()
        self.is_reviving = False

    def has_undone(self, path: str) -> bool:
        """Return whether the user's last command may have been an undo."""
        return self.is_reviving or super().has_undone(path)

    def commit(self) -> None:
        """Wait until the commit cannot be taken for one of an agent that was killed."""
        if time.time() > self.cut_until:
            super().commit()

    def user_saves(self) -> None:
        """Save everything."""
        path = self.random_path(lambda p: self.disk(p) not in (None, EMPTY))
        if path is not None:
            self.as_user("saves", path, "vim.cmd('silent! wall!')")

    def follow_editor(self) -> None:
        """Collect the user's changes in one update while no host runs."""
        if self.alive:
            super().follow_editor()
        else:
            self.look()

    def _quiet(self) -> None:
        """Wait until the journal has everything that Neovim shows and has stopped growing."""
        path = killed_host.journal_path(self.editor)
        found: list[bytes] = []

        def is_quiet() -> bool:
            now = path.read_bytes() if path.exists() else b""
            if found and found[-1] != now:
                found.clear()
            found.append(now)
            return len(found) >= QUIET

        until(lambda: is_quiet() and killed_host.is_written(self.editor))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Mortal))
