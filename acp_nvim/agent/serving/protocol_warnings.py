"""Deviations of an agent from the protocol, which are tolerated and shown by `:Acp info`."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Final

UNREAD_LINES: Final = 5
MAX_SHOWN: Final = 200
"""Maximum number of characters shown of an example."""
MAX_STORED: Final = 4096


class ProtocolWarnings:
    """Counts by kind, with the newest example of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.newest: dict[str, str] = {}
        self.unread: deque[str] = deque(maxlen=UNREAD_LINES)
        """Newest lines of output that are not messages. They may explain why an agent exits."""

    def count(self, kind: str, example: str = "") -> None:
        self.counts[kind] += 1
        self.newest[kind] = example[:MAX_STORED]

    def on_error(self, error: BaseException) -> None:
        """Count an internal error in the handling of an agent's message."""
        self.count("internal error", f"{type(error).__name__}: {error}")

    def keep(self, line: bytes) -> None:
        """Store a line that is not a message, unless it is blank."""
        if text := line.decode(errors="replace").rstrip():
            self.unread.append(text[:200])

    def lines(self, redact: Callable[[str], str] = str) -> list[str]:
        """Return one line per kind: count, kind, newest example.

        `redact` receives uncut examples.
        """
        shown = {kind: redact(example)[:MAX_SHOWN] for kind, example in self.newest.items()}
        return [
            f"{count} × {kind}" + (f" ({shown[kind]})" if shown[kind] else "")
            for kind, count in self.counts.most_common()
        ]
