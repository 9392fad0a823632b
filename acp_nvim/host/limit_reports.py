"""Reports of exceeded limits (options `limits.*`)."""

from __future__ import annotations

from collections import Counter

from acp_nvim import wording
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.session import Session


class LimitReports:
    """Exceeded limits since the start of the host: shown to the user, counted for `:Acp info`."""

    def __init__(self, screen: Screen) -> None:
        self.counts: Counter[str] = Counter()
        self._screen = screen

    def tell(self, limit: str, text: str, session: Session | None = None) -> None:
        """Report that `limit` was exceeded, in a session or, without one, as a message."""
        self.counts[limit] += 1
        title = wording.OVER_LIMIT.format(what=text, limit=limit)
        if session is None:
            self._screen.event("AcpNotice", severity="warning", title=title)
            self._screen.push("echo", "warn", title)
        else:
            session.notice("warning", title)
            session.event("AcpNotice", severity="warning", title=title)

    def lines(self) -> list[str]:
        """Return the lines for `:Acp info`."""
        told = [f"{count} × limits.{name}" for name, count in self.counts.most_common()]
        return ["limits hit: " + (", ".join(told) or "none")]
