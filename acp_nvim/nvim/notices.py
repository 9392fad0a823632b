"""Words to the user that belong to no card and no answer: one line each, and what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from acp_nvim import wording
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.session import Session

KEPT: Final = 50
"""Problems for `:Acp info`; the newest count."""


class Notices:
    """Those of a host."""

    def __init__(self, screen: Screen, current: Callable[[], Session | None]) -> None:
        self.problems: list[str] = []
        self._screen = screen
        self._current = current

    def echo(self, level: str, message: str) -> None:
        """One line to the user."""
        self._screen.push("echo", level, message)

    def notice(self, text: str) -> None:
        """Something is not kept or not seen, by a limit or because it cannot be."""
        session = self._current()
        if session is None:
            self._screen.event("AcpNotice", severity="warning", title=text)
            self.echo("warn", text)
            return
        session.notice("warning", text)
        session.event("AcpNotice", severity="warning", title=text)

    def failed(self, what: str, error: Exception) -> None:
        """A task of ours broke; the rest goes on."""
        self.problem(f"{what}: {type(error).__name__}: {error}")
        self.echo("error", wording.FAULT.format(where=what, reason=error))

    def problem(self, text: str) -> None:
        """Something of ours went wrong; it is kept for `:Acp info`, and stderr goes to the health
        check.
        """
        self.problems.append(text)
        del self.problems[:-KEPT]
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
