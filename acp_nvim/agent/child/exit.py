"""Exit of a process."""

from __future__ import annotations

import signal
from typing import Self

from msgspec import Struct


class Exit(Struct, frozen=True):
    """Exit of a process: its `code`, or the name of the `signal` that ended it, such as 'SIGKILL'.

    The other field is None.
    """

    code: int | None
    signal: str | None

    @classmethod
    def of(cls, status: int) -> Self:
        """Convert a `returncode` of Python's `subprocess`, which is negative for a signal."""
        if status >= 0:
            return cls(status, None)
        try:
            return cls(None, signal.Signals(-status).name)
        except ValueError:
            return cls(None, f"SIG{-status}")

    def __str__(self) -> str:
        return f"killed by {self.signal}" if self.signal else f"exit code {self.code}"
