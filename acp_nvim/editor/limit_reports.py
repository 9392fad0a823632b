"""What goes over the options `limits.*`: each is told once where it can be seen, and counted for
`:Acp info`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from acp_nvim.agent.settings import Settings
from acp_nvim.editor.screen import Screen
from acp_nvim.render.text import size
from acp_nvim.session.session import Session


class LimitReports:
    """What went over a limit since the host was started."""

    def __init__(self, screen: Screen, settings: Callable[[], Settings]) -> None:
        """None so far."""
        self.counts: Counter[str] = Counter()
        self._screen = screen
        self._settings = settings
        self._standing = False
        """Whether it has been told that reading waits."""

    def tell(self, limit: str, text: str, session: Session | None = None) -> None:
        """Something of a session, or of no known one, went over `limit`."""
        self.counts[limit] += 1
        title = f"{text} (limits.{limit})"
        if session is None:
            self._screen.event("AcpNotice", severity="warning", title=title)
            self._screen.push("echo", "warn", title)
        else:
            session.notice("warning", title)
            session.event("AcpNotice", severity="warning", title=title)

    async def gate(self) -> float:
        """Let reading from agents wait for the screen, see `Screen.gate`; told once a turn. Returns
        the seconds for which the screen needs nothing more.
        """
        waiting, limit = self._screen.undrawn, self._settings().limits.pending_bytes
        lull = self._screen.pulse(waiting)
        if waiting > limit:
            self._stand(limit)
            await self._screen.gate()
        elif self._standing and all(
            one.status != "running" for one in self._screen.sessions.values()
        ):
            self._standing = False
        return lull

    def _stand(self, limit: int) -> None:
        if self._standing:
            return
        self._standing = True
        text = f"more than {size(limit)} wait to be drawn, reading stands"
        # Not in the chat: the text that streams there would be torn.
        self.tell("pending_bytes", text)

    def lines(self) -> list[str]:
        """For `:Acp info`."""
        told = [f"{count} × limits.{name}" for name, count in self.counts.most_common()]
        return ["limits hit: " + (", ".join(told) or "none")]
