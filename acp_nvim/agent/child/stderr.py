"""Last lines of a process's stderr, to explain its exit."""

from collections import deque
from collections.abc import Callable

MAX_LINES = 500
MAX_LINE_BYTES = 4096
CUT = "…"


class StderrRing:
    """The last `MAX_LINES` lines, each cut to `MAX_LINE_BYTES`, in bounded memory."""

    def __init__(self, on_data: Callable[[bytes], None] | None = None) -> None:
        """`on_data` is called with all data in its original pieces."""
        self._on_data = on_data
        self._lines: deque[bytes] = deque(maxlen=MAX_LINES)
        self._open = b""

    def feed(self, data: bytes) -> None:
        """Add bytes, which may be split anywhere."""
        if self._on_data is not None:
            self._on_data(data)
        first, *rest = data.split(b"\n")
        self._open += first[: MAX_LINE_BYTES + 1 - len(self._open)]
        if not rest:
            return
        self._add(self._open)
        *whole, last = rest
        for line in whole[-MAX_LINES:]:
            self._add(line)
        self._open = last[: MAX_LINE_BYTES + 1]

    def tail(self, n: int = MAX_LINES) -> list[str]:
        """Return the last `n` lines, oldest first, including the unfinished one.

        Bytes that are not UTF-8 become U+FFFD.
        """
        lines = [*self._lines, self._open] if self._open else list(self._lines)
        return [_text(line) for line in lines[-min(n, MAX_LINES) :]] if n > 0 else []

    def _add(self, line: bytes) -> None:
        # The extra byte shows that the line was longer.
        self._lines.append(line[: MAX_LINE_BYTES + 1])


def _text(line: bytes) -> str:
    text = line[:MAX_LINE_BYTES].decode("utf-8", "replace").removesuffix("\r")
    return text + CUT if len(line) > MAX_LINE_BYTES else text
