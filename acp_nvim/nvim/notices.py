"""Messages of one line to the user, and the list of recent problems."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from acp_nvim import wording
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.session import Session

MAX_LINES: Final = 20
"""Maximum number of lines in a message. A last line counts the others."""
MAX_PROBLEMS: Final = 50
"""Number of recent problems that `:Acp info` shows."""


class Notices:
    """Messages and recent problems of a host."""

    def __init__(self, screen: Screen, current: Callable[[], Session | None]) -> None:
        self.problems: list[str] = []
        self._screen = screen
        self._current = current

    def echo(self, level: str, message: str) -> None:
        """Show one line to the user."""
        self._screen.push("echo", level, message)

    def show_lines(self, lines: Sequence[str]) -> None:
        """Show lines to the user. If there are several, `:messages` has up to `MAX_LINES`."""
        if len(lines) == 1:
            self.echo("info", lines[0])
        elif lines:
            hidden_count = len(lines) - MAX_LINES
            more = [wording.PART_MORE.format(count=hidden_count)] if hidden_count > 0 else []
            self._screen.push("echo", "info", [*lines[:MAX_LINES], *more])

    def notice(self, text: str) -> None:
        """Warn in the current session that something cannot be stored or observed."""
        _warn(self._screen, self._current(), text)

    def on_error(self, what: str, error: Exception) -> None:
        """Report the exception of a background task."""
        self.fault(
            f"{what}: {type(error).__name__}: {error}",
            wording.FAULT.format(where=what, reason=error),
        )

    def fault(self, problem: str, message: str) -> None:
        """Record an internal error, and show the user a message.

        If the plugin was updated while Neovim was running, Neovim names that as the cause instead.
        """
        self.problem(problem)
        self._screen.push("fault", message)

    def problem(self, text: str) -> None:
        """Record an internal error for `:Acp info`, and print it to stderr for the health check."""
        self.problems.append(text)
        del self.problems[:-MAX_PROBLEMS]
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class LimitReports:
    """Exceeded limits since the start of the host: shown to the user, counted for `:Acp info`."""

    def __init__(self, screen: Screen) -> None:
        self.counts: Counter[str] = Counter()
        self._screen = screen

    def report(self, limit: str, text: str, session: Session | None = None) -> None:
        """Report an exceeded limit in the chat of a session, or as a message without one."""
        self.counts[limit] += 1
        _warn(self._screen, session, wording.OVER_LIMIT.format(what=text, limit=limit))

    def lines(self) -> list[str]:
        """Return the lines for `:Acp info`."""
        counts = [f"{count} × limits.{name}" for name, count in self.counts.most_common()]
        return ["limits hit: " + (", ".join(counts) or "none")]


def _warn(screen: Screen, session: Session | None, text: str) -> None:
    """Show a warning in a session's chat, or as a message if there is none, and fire an event."""
    if session is None:
        screen.event("AcpNotice", severity="warning", title=text)
        screen.push("echo", "warn", text)
    else:
        session.notice("warning", text)
        session.event("AcpNotice", severity="warning", title=text)
