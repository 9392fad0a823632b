"""Reports of exceeded options `limits.*`: shown to the user, and counted for `:Acp info`."""

from __future__ import annotations

from collections import Counter

from acp_nvim import wording
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.session import Session


class LimitReports:
    """The exceeded limits since the host was started."""

    def __init__(self, screen: Screen) -> None:
        """None so far."""
        self.counts: Counter[str] = Counter()
        self._screen = screen

    def tell(self, limit: str, text: str, session: Session | None = None) -> None:
        """Report that something of a session, or of no known one, exceeded `limit`."""
        self.counts[limit] += 1
        title = wording.OVER_LIMIT.format(what=text, limit=limit)
        if session is None:
            self._screen.event("AcpNotice", severity="warning", title=title)
            self._screen.push("echo", "warn", title)
        else:
            session.notice("warning", title)
            session.event("AcpNotice", severity="warning", title=title)

    def lines(self) -> list[str]:
        """For `:Acp info`."""
        told = [f"{count} × limits.{name}" for name, count in self.counts.most_common()]
        return ["limits hit: " + (", ".join(told) or "none")]
