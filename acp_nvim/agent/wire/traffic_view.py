"""Lines of the traffic log: direction, method and id, latency, content.

09:30:01.250 -> session/prompt #3 1 KiB {"sessionId":…
09:30:02.131 <- session/prompt #3 881 ms 60 B {"stopReason":"end_turn"}
09:30:02.140 <! Warning: not JSON at all
09:30:02.141 2> a line of stderr
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_nvim.agent.wire.redact import Redactor
from acp_nvim.patterns import late
from acp_nvim.render.text import format_size, one_line, visible

Level = Literal["off", "error", "warn", "info", "debug", "trace"]

MAX_SHOWN = 200
"""Number of characters of a message's content shown at level 'info'."""
ARROWS = {"in": "<-", "out": "->", "err": "2>"}
CUT = "(cut; hidden because it may contain secrets)"

UNREAD = "(unreadable; hidden because it may contain secrets)"

_BEFORE_CONTENT = late(rb'"(?:params|result|error)"\s*:')
_METHOD = late(rb'"method"\s*:\s*"([^"\\]+)"')
_CUT_SIZE = late(rb"\[(\d+) bytes\]$")
_ID = late(rb'"id"\s*:\s*(-?\d+|"[^"\\]*")')


class Line(Struct, frozen=True):
    """Transmitted line. `is_whole` is false if its end has not arrived."""

    time: float
    direction: str
    data: bytes
    is_whole: bool = True


class _Message(Struct):
    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_messages = msgspec.json.Decoder(_Message)


class _OpenRequest(Struct, frozen=True):
    method: str
    time: float


def render(lines: Iterable[Line], level: Level, redactor: Redactor | None) -> Iterator[str]:
    """Yield log lines for `lines`.

    Level 'error' shows only refusals, unreadable lines and stderr; 'debug' shows all in full.
    """
    view = _View(level, redactor)
    for line in lines:
        shown = view.line(line)
        if shown is not None:
            yield f"{_clock(line.time)} {shown}"


class _View:
    def __init__(self, level: Level, redactor: Redactor | None) -> None:
        self._brief = level == "info"
        self._only_errors = level in ("error", "warn", "off")
        self._redactor = redactor
        self._asked: dict[tuple[str, bytes], _OpenRequest] = {}

    def line(self, line: Line) -> str | None:
        """Return the line without its time, or None if the level hides it."""
        if line.direction == "err":
            return f"2> {self._text(line)}"
        try:
            message = _messages.decode(line.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._unreadable(line)
        head, failed = self._head(line, message)
        if self._only_errors and not failed:
            return None
        head = f"{head} {_size(line.data)}"
        content = next((c for c in (message.params, message.error, message.result) if c), None)
        return head if content is None else f"{head} {self._content(content)}"

    def _head(self, line: Line, message: _Message) -> tuple[str, bool]:
        arrow, other = ARROWS[line.direction], "in" if line.direction == "out" else "out"
        key = None if message.id is UNSET else bytes(message.id)
        label = "" if key is None else f" #{key.decode().strip(chr(34))}"
        if message.method is not UNSET:
            if key is not None:
                self._asked[line.direction, key] = _OpenRequest(message.method, line.time)
            return f"{arrow} {self._clean(message.method)}{label}", False
        failed = message.error is not UNSET
        asked = None if key is None else self._asked.pop((other, key), None)
        duration = "" if asked is None else f" {(line.time - asked.time) * 1000:.0f} ms"
        method = "(answer)" if asked is None else self._clean(asked.method)
        return f"{arrow} {method}{label}{duration}{' error' if failed else ''}", failed

    def _content(self, content: Raw) -> str:
        text = (
            self._redact_content(content) if self._redactor is not None else _decode_text(content)
        )
        return one_line(text, MAX_SHOWN) if self._brief else visible(text).replace("\n", " ")

    def _redact_content(self, content: Raw) -> str:
        assert self._redactor is not None
        try:
            value: Any = msgspec.json.decode(content)
            return msgspec.json.encode(self._redactor.value(value)).decode()
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return UNREAD

    def _unreadable(self, line: Line) -> str | None:
        """Return an unreadable line unchanged.

        For a cut message, return the method and the id at its start.
        """
        if not line.data.lstrip().startswith((b"{", b"[{", b'["')):
            return f"{ARROWS[line.direction][0]}! {self._text(line)}"
        start = _BEFORE_CONTENT.search(line.data)
        head = line.data[: start.start()] if start else line.data[:MAX_SHOWN]
        method, key = _METHOD.search(head), _ID.search(head)
        message = _Message(
            Raw(key.group(1)) if key else UNSET,
            method.group(1).decode("utf-8", "replace") if method else UNSET,
        )
        shown, _ = self._head(line, message)
        if self._only_errors:
            return None
        shown = f"{shown} {_size(line.data)}"
        return f"{shown} {CUT if self._redactor is not None else self._text(line)}"

    def _text(self, line: Line) -> str:
        text = line.data.decode("utf-8", "replace").rstrip("\r")
        if self._redactor is not None:
            whole = line.is_whole and not text.endswith(" bytes]")
            text = self._redactor.line(text, line.direction, whole)
        return one_line(text, MAX_SHOWN) if self._brief else visible(text)

    def _clean(self, text: str) -> str:
        return text if self._redactor is None else self._redactor.text(text)


def _size(data: bytes) -> str:
    """Return the size of a message. A cut message has its size in the mark at its end."""
    cut = _CUT_SIZE.search(data[-40:])
    return format_size(int(cut.group(1)) if cut else len(data))


def _decode_text(data: bytes | Raw) -> str:
    return bytes(data).decode("utf-8", "replace")


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%H:%M:%S.%f")[:-3]
