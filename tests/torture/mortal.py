"""As wide, with a host that is killed now and then while the user goes on.

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
"""How often in a row the journal is to be found the same."""


class Mortal(Wide):
    """A host may die between any two steps."""

    def __init__(self, editor: Editor, seed: int) -> None:
        super().__init__(editor, seed)
        self.alive = True
        self.cut_until = 0.0

    def step(self) -> None:
        """One step, by chance."""
        if not self.alive:
            self.rng.choice([self.user_types, self.user_command, self.user_saves, self.revive])()
        elif self.rng.random() < 0.06:
            self.die()
        else:
            super().step()

    def finish(self) -> None:
        """The last word is a living host's."""
        if not self.alive:
            self.revive()
        super().finish()

    def die(self) -> None:
        """The host is killed, with a turn or without."""
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

    def revive(self) -> None:
        """Some command has the next host started."""
        self.note("the next one lives")
        self.editor.cmd("Acp edits")
        killed_host.wait_host(self.editor)
        self.alive = True
        self.settle_as_it_is()

    def commit(self) -> None:
        """Not so soon that it may be the commit of an agent that has not ended yet."""
        if time.time() > self.cut_until:
            super().commit()

    def user_saves(self) -> None:
        """All that is not saved."""
        path = self.some(lambda p: self.disk(p) not in (None, EMPTY))
        if path is not None:
            self.as_user("saves", path, "vim.cmd('silent! wall!')")

    def settle_as_it_is(self) -> None:
        """What the user does while no host runs is told in one."""
        if self.alive:
            super().settle_as_it_is()
        else:
            self.look()

    def _quiet(self) -> None:
        """Wait until the journal has all that Neovim shows, and grows no more."""
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
