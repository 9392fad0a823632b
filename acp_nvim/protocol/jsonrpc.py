"""JSON-RPC 2.0 peer without I/O: bytes in, events out. One line of JSON is one message.

`Peer.receive` accepts bytes in any pieces and returns the same events for any split. Only the
envelope is decoded here. Params and results stay raw for `codec`, except in a flood of updates
(`Updates`).

Input from the peer never raises an error. A broken rule becomes a `Violation`, with the line to
send back if one is due. The `jsonrpc` member is written but not checked, because nothing depends on
it.

Each side has its own id space (v1/overview, JSON-RPC 2.0 section 4). Null, numbers and strings are
echoed exactly, and 1 is not "1". A request that reuses an open id is refused at once with that id,
so that each request has an answer. The first request is answered normally.
"""

from __future__ import annotations

from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct

from acp_nvim.protocol import blocks, errors, numbers, salvage, schema, updates
from acp_nvim.protocol.blocks import NO_PARAMS, Envelope, Int64
from acp_nvim.protocol.errors import LocalProtocolError
from acp_nvim.protocol.lines import SHOWN_BYTES, TAIL_BYTES, LineSplitter, Oversize
from acp_nvim.protocol.numbers import Number
from acp_nvim.protocol.text import clean, repair_escapes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acp_nvim.protocol.halves import Halves

MESSAGE_BYTES: Final = 64 << 20

EXACT: Final = frozenset({"fs/write_text_file", "terminal/create", "tools/call", "mcp/message"})
"""Methods whose text is not repaired, because it would be another file or command.

The last two call tools of the editor (`nvim_edit`).
"""
HALVED: Final = "a text contains half of a character (a lone surrogate)"

Id: TypeAlias = int | str | Number | None

ViolationKind: TypeAlias = Literal[
    "oversize", "utf8", "json", "batch", "message", "duplicate", "response", "eof"
]


class Request(Struct, frozen=True, gc=False):
    """Request from the peer, to be answered exactly once, by `respond` or `refuse` with this id."""

    id: Id
    method: str
    params: Raw


class Notification(Struct, frozen=True, gc=False):
    """Notification from the peer."""

    method: str
    params: Raw


class Response(Struct, frozen=True, gc=False):
    """Answer to the request `id` of `method`: either a result or an error."""

    id: Id
    method: str
    result: Raw | None
    error: schema.Error | None


class Violation(Struct, frozen=True, gc=False):
    """Broken rule of JSON-RPC. The connection continues.

    `raw` is the start of the line, at most 2 KiB, and `reply` the line to send back, or None. The
    kinds are "oversize" for a skipped line, "utf8" and "json" for an unreadable one, "batch" for an
    array, "message" for an invalid message, "duplicate" for the id of an open request, "response"
    for a malformed or unmatched response, and "eof" in the middle of a line.
    """

    kind: ViolationKind
    detail: str
    raw: bytes
    reply: bytes | None = None


class Updates(Struct, frozen=True, gc=False):
    """Decoded `session/update` lines. `size` is their total size in bytes."""

    messages: Sequence[schema.SessionNotification | updates.Notification]
    size: int


class PromptInsertion(Struct, frozen=True, gc=False):
    """Insertion of the prompt of request `id` into the session, with a message id.

    The answer to the request follows later (v2/prompt-lifecycle).
    """

    id: Id
    message_id: str


Event: TypeAlias = Request | Notification | Response | Violation | Updates | PromptInsertion

_BOM: Final = b"\xef\xbb\xbf"
_NULL: Final = Raw(b"null")


_envelope: Final = msgspec.json.Decoder(Envelope)
_members: Final = msgspec.json.Decoder(dict[str, Raw])
_syntax: Final = msgspec.json.Decoder(Raw)
_ids: Final = msgspec.json.Decoder(Int64 | str | None)
_errors: Final = msgspec.json.Decoder(schema.Error)
_encoder: Final = msgspec.json.Encoder(enc_hook=numbers.to_json)


class Peer:
    """One side of a connection: classification of messages, and open ids in both directions.

    `message_bytes` limits a line. A longer line is skipped without using memory, and reported. If
    `reads_updates` is set, lines that are all updates are returned as `Updates`. `outgoing` and
    `incoming` map the ids of unanswered requests to their methods.
    """

    def __init__(self, message_bytes: int = MESSAGE_BYTES, *, reads_updates: bool = False) -> None:
        self.reads_updates = reads_updates
        self._limit = message_bytes
        self._lines = LineSplitter(message_bytes)
        self._halves: Halves | None = None
        """Held halves of characters, or None before the first line with a surrogate."""
        self._next_id = count(1)
        self._outgoing: dict[Id, str] = {}
        self._incoming: dict[Id, str] = {}
        self.outgoing: Final[Mapping[Id, str]] = MappingProxyType(self._outgoing)
        self.incoming: Final[Mapping[Id, str]] = MappingProxyType(self._incoming)

    def __repr__(self) -> str:
        return f"<Peer outgoing={len(self._outgoing)} incoming={len(self._incoming)}>"

    def read_no_updates(self) -> None:
        """From now on return each line as a separate event, because lines need translation."""
        self.reads_updates = False

    def set_limit(self, message_bytes: int) -> None:
        """Set the maximum number of bytes in a line."""
        self._limit = message_bytes
        self._lines.set_limit(message_bytes)

    def receive(self, data: bytes) -> list[Event]:
        """Return the events of all lines that end in `data`."""
        events: list[Event] = []
        for piece in self._lines.feed(data):
            if isinstance(piece, Oversize):
                events += self._report_oversize(piece)
            else:
                events += self._block(piece)
        return events

    def close(self) -> list[Event]:
        """Return the last message at the end of the stream, if only its newline is missing."""
        rest = self._lines.rest()
        if isinstance(rest, Oversize):
            return self._report_oversize(rest)
        left = self._halves.rest() if self._halves else []
        halves = [event for line in left for event in self._json(line)]
        if rest is None or not rest.strip():
            return halves
        if _is_object(rest):
            return [*halves, *self._block(rest + b"\n")]
        return [
            *halves,
            _violation("eof", f"the stream ended inside a line of {len(rest)} bytes", rest),
        ]

    def request(self, method: str, params: Struct | dict[str, Any]) -> tuple[int, bytes]:
        """Return the id and the line of a request. A `Response` with that id will follow.

        Raise LocalProtocolError if `params` cannot be encoded as JSON.
        """
        request_id = next(self._next_id)
        line = _encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        self._outgoing[request_id] = method
        return request_id, line

    def notify(self, method: str, params: Struct | dict[str, Any]) -> bytes:
        """Return the line of a notification. Raise LocalProtocolError like `request`."""
        return _encode({"jsonrpc": "2.0", "method": method, "params": params})

    def respond(self, request_id: Id, result: Struct | dict[str, Any] | Raw | None) -> bytes:
        """Return the line that answers a request from the peer. None is sent as an empty object.

        Raise LocalProtocolError if no such request is open, or if `result` cannot be encoded as
        JSON. In the latter case, the request stays open.
        """
        return self._answer(request_id, {"result": {} if result is None else result})

    def refuse(self, request_id: Id, code: int, message: str, data: Any = UNSET) -> bytes:
        """Return the line that answers a request with an error. Raise the errors of `respond`."""
        return self._answer(request_id, {"error": schema.Error(code, message, data)})

    def _answer(self, request_id: Id, outcome: dict[str, Any]) -> bytes:
        if request_id not in self._incoming:
            detail = f"no open request {request_id!r}: never sent, or already answered"
            raise LocalProtocolError(detail)
        line = _encode({"jsonrpc": "2.0", "id": request_id, **outcome})
        del self._incoming[request_id]
        return line

    def _block(self, block: bytes) -> list[Event]:
        if self._halves:
            return self._read_line_by_line(block)
        if not self.reads_updates or b"session/update" not in block:
            return self._messages(block)
        flood, end = blocks.split_flood(block)
        if (updates := blocks.updates(flood)) is None:
            return self._messages(block)
        run: Event = Updates([update.params for update in updates], len(flood))
        return [run, *self._messages(end)] if end else [run]

    def _messages(self, block: bytes) -> list[Event]:
        envelopes = blocks.envelopes(block)
        if envelopes is None:
            return self._read_line_by_line(block)
        events: list[Event] = []
        rows = _Rows(block)
        for row, envelope in enumerate(envelopes):
            if envelope.id is UNSET and envelope.method is not UNSET:
                events.append(Notification(envelope.method, envelope.params))
            else:
                events += self._message(envelope, rows, row)
        return events

    def _read_line_by_line(self, block: bytes) -> list[Event]:
        lines = [line for line in block.split(b"\n") if not line.isspace() and line]
        return [event for line in lines for event in self._line(line)]

    def _line(self, line: bytes) -> list[Event]:
        """Return the events of a line that may be malformed, with a violation for each fault.

        A byte order mark, which some systems write before a program's output, is ignored.
        """
        line = line.removeprefix(_BOM)
        try:
            line.decode()
        except UnicodeDecodeError as e:
            return self._unreadable("utf8", f"invalid UTF-8: {e}", line)
        if self._halves is None and b"\\ud" in line.lower():
            from acp_nvim.protocol.halves import Halves

            self._halves = Halves()
        lines = [line] if self._halves is None else self._halves.lines(line)
        return [event for line in lines for event in self._json(line)]

    def _json(self, line: bytes) -> list[Event]:
        if blocks.is_nested_too_deep(line):
            detail = f"nested deeper than {blocks.MAX_NESTING} levels"
            return self._unreadable("json", detail, line)
        text = repair_escapes(line) if b"\\u" in line else line
        try:
            envelope = _envelope.decode(text)
            if text != line and envelope.method in EXACT and envelope.id is not UNSET:
                return [_violation("utf8", HALVED, line, errors.INVALID_PARAMS, envelope.id)]
            return self._message(envelope, _Rows(line), 0)
        except msgspec.ValidationError as e:
            return self._report_misfit(line, text, str(e))
        except (msgspec.DecodeError, RecursionError) as e:
            return self._unreadable("json", f"not JSON: {e}", line)

    def _message(self, envelope: Envelope, rows: _Rows, row: int) -> list[Event]:
        if envelope.method is UNSET:
            return self._response(envelope, rows[row])
        if envelope.id is UNSET:
            return [Notification(envelope.method, envelope.params)]
        if envelope.id in self._incoming:
            detail = f"request {envelope.id!r} is already open"
            return [_violation("duplicate", detail, rows[row], errors.INVALID_REQUEST, envelope.id)]
        self._incoming[envelope.id] = envelope.method
        return [Request(envelope.id, envelope.method, envelope.params)]

    def _response(self, envelope: Envelope, raw: bytes) -> list[Event]:
        """Return the response to an open request, or the violation if there is none."""
        is_empty = envelope.result is UNSET and envelope.error is UNSET
        asked = (
            envelope.id
            if envelope.id is not UNSET and envelope.id is not None
            else self._initialize_id(envelope)
        )
        if (envelope.id is UNSET and asked is None) or (
            is_empty and envelope.id not in self._outgoing
        ):
            detail = (
                "neither method nor result nor error" if is_empty else "a response without an id"
            )
            return [_violation("message", detail, raw, reply=errors.INVALID_REQUEST)]
        if asked not in self._outgoing:
            detail = f"response to {asked!r}, which is not an open request"
            return [_violation("response", detail, raw)]
        method = self._outgoing.pop(asked)
        if envelope.error is UNSET or bytes(envelope.error) == b"null":
            # JavaScript omits an undefined `result`.
            result = _NULL if envelope.result is UNSET else envelope.result
            return [Response(asked, method, result, None)]
        return _error_response(asked, method, envelope.error, raw)

    def _initialize_id(self, envelope: Envelope) -> Id:
        """Return the id of the request to which an error without an id belongs.

        A peer that cannot read a request does not know its id. If only `initialize` is open, the
        error belongs to it.
        """
        is_error = envelope.error is not UNSET and bytes(envelope.error) != b"null"
        if not is_error or list(self._outgoing.values()) != ["initialize"]:
            return None
        return next(iter(self._outgoing))

    def _report_misfit(self, line: bytes, text: bytes, problem: str) -> list[Event]:
        """Report a line whose envelope has a wrong shape. The rest may be invalid JSON."""
        try:
            _syntax.decode(text)
            members = _members.decode(text) if text.lstrip()[:1] == b"{" else None
        except (msgspec.DecodeError, RecursionError) as e:
            return self._unreadable("json", f"not JSON: {e}", line)
        if members is None:
            kind: ViolationKind = "batch" if text.lstrip()[:1] == b"[" else "message"
            return [_violation(kind, problem, line, reply=errors.INVALID_REQUEST)]
        if (number := numbers.read(members.get("id"))) is not None:
            try:
                return self._message(_normalize_id(members, number), _Rows(line), 0)
            except msgspec.ValidationError as e:
                problem = str(e)
        if "method" not in members and not members.keys().isdisjoint({"result", "error"}):
            return [_violation("response", problem, line)]
        reply_to = self._free_id(members.get("id"))
        return [_violation("message", problem, line, errors.INVALID_REQUEST, reply_to)]

    def _free_id(self, raw: Raw | bytes | None) -> Id:
        """Return the id for refusing a bad request.

        This is the request's own id, or None if that is invalid or in use.
        """
        try:
            own: Id = None if raw is None else _ids.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            own = numbers.read(raw)
        return None if own in self._incoming else own

    def _report_oversize(self, line: Oversize) -> list[Event]:
        """Report a skipped line.

        If the ends of the line show a request, refuse it. If they show an answer, fail the request.
        """
        detail = f"a line of {line.size} bytes, more than {self._limit}"
        members = salvage.end_members(line.head, line.tail)
        if "id" not in members:
            return [_violation("oversize", detail, line.head)]
        if "method" in members:
            reply_to = self._free_id(members["id"])
            return [_violation("oversize", detail, line.head, errors.INVALID_REQUEST, reply_to)]
        return [_violation("oversize", detail, line.head), *self._fail_request(members, detail)]

    def _unreadable(self, kind: ViolationKind, detail: str, line: bytes) -> list[Event]:
        """Refuse an unreadable line. If it is an answer, fail the request."""
        head, tail = line[:SHOWN_BYTES], line[-TAIL_BYTES:]
        members = salvage.end_members(head, tail, is_one=kind == "utf8")
        reply_to = self._free_id(members.get("id")) if "method" in members else None
        unread = _violation(kind, detail, line, errors.PARSE_ERROR, reply_to)
        return [unread, *self._fail_request(members, f"the answer cannot be read: {detail}")]

    def _fail_request(self, members: Mapping[str, bytes], detail: str) -> list[Event]:
        """Fail the request whose answer has these members."""
        if "method" in members or members.keys().isdisjoint({"result", "error"}):
            return []
        try:
            answered = _ids.decode(members.get("id", b"null"))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return []
        method = self._outgoing.pop(answered, None)
        if method is None:
            return []
        return [Response(answered, method, None, schema.Error(errors.INTERNAL_ERROR, detail))]


def _is_object(line: bytes) -> bool:
    """Return whether a line is a complete object."""
    line = line.removeprefix(_BOM)
    try:
        line.decode()
        _syntax.decode(repair_escapes(line))
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return False
    return line.lstrip()[:1] == b"{"


def _normalize_id(members: Mapping[str, Raw], number: Number) -> Envelope:
    """Return a message whose id is a `Number`. The id 1.0 answers the request 1.

    Raise ValidationError if its method is not a string.
    """
    is_request = "method" in members
    own: Any = number if is_request or number.whole is None else number.whole
    return Envelope(
        msgspec.json.decode(members["method"], type=str) if is_request else UNSET,
        members.get("params", NO_PARAMS),
        own,
        members.get("result", UNSET),
        members.get("error", UNSET),
    )


class _Rows:
    """Lines of a block, split on first access."""

    __slots__ = ("_block", "_lines")

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._lines: list[bytes] | None = None

    def __getitem__(self, row: int) -> bytes:
        if self._lines is None:
            self._lines = self._block.split(b"\n")
        return self._lines[row]


def _error_response(asked: Id, method: str, error: Raw, raw: bytes) -> list[Event]:
    """Return the error of a failed request. A malformed error is reported too."""
    try:
        return [Response(asked, method, None, _errors.decode(error))]
    except (msgspec.DecodeError, RecursionError) as e:
        return [
            Response(asked, method, None, salvage.error(error)),
            _violation("response", f"malformed error: {e}", raw),
        ]


def _violation(
    kind: ViolationKind, detail: str, raw: bytes, reply: int | None = None, reply_to: Id = None
) -> Violation:
    """Return a violation. `reply` is the code of the error to send back, and `reply_to` its id."""
    line = None
    if reply is not None:
        error = schema.Error(reply, detail)
        line = _encode({"jsonrpc": "2.0", "id": reply_to, "error": error})
    return Violation(kind, detail, raw[:SHOWN_BYTES], line)


def _encode(message: dict[str, Any]) -> bytes:
    try:
        line = _dump(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as e:
        raise LocalProtocolError(f"cannot be written as JSON: {e}") from e
    if b"\n" in line:  # possible only in a Raw with line breaks
        line = msgspec.json.format(line, indent=-1)
    return line + b"\n"


def _dump(message: dict[str, Any]) -> bytes:
    try:
        return _encoder.encode(message)
    except UnicodeEncodeError:
        return _encoder.encode(clean(message))
