"""Conversion between the values of a journal and records. The last record of a key counts.

Texts have separate records, named by their content, so a text in many values is written once. The
first text of a path is written as a whole, later ones as changes to an earlier one. The size of a
journal therefore depends on the changes, not on the size of the files.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from acp_nvim.edits.hunks import Hunk, apply, diff
from acp_nvim.edits.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

REMEMBERED = 64
"""Maximum number of texts whose names are remembered by object."""
ANCHORS = 3
"""Maximum number of texts of a path that later texts are stored as changes to. The latest are used.
"""
SMALL = 2
"""Factor by which a change must be smaller than the text to be written instead of it."""

NONE = b""
"""Name of a missing text."""
Row = tuple[int, int, bytes]
"""Rows [start, end) of a text, and the lines that replace them."""
Key = tuple[str, bytes]
"""Kind of a value, and its name."""
T = TypeVar("T")


class LostValueError(Exception):
    """Failure to read a value, because a record is damaged or missing."""


class FullText(msgspec.Struct, frozen=True, tag="text", array_like=True):
    """A text with all of its lines."""

    name: bytes
    eol: bool
    lines: bytes


class TextChange(msgspec.Struct, frozen=True, tag="change", array_like=True):
    """A text, stored as changes to another text."""

    name: bytes
    of: bytes
    eol: bool
    hunks: list[Row]


class Data(msgspec.Struct, frozen=True, tag="data", array_like=True):
    """Bytes that are not a text."""

    name: bytes
    data: bytes


class SetValue(msgspec.Struct, frozen=True, tag="put", array_like=True):
    """Record that sets the value of a key."""

    kind: str
    key: bytes
    value: bytes


class RemoveValue(msgspec.Struct, frozen=True, tag="drop", array_like=True):
    """Record that removes a key."""

    kind: str
    key: bytes


Record = FullText | TextChange | Data | SetValue | RemoveValue
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode
_decode_batch = msgspec.msgpack.Decoder(list[bytes]).decode


def to_bytes(text: str) -> bytes:
    """Encode a path or line, which may contain bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def from_bytes(data: bytes) -> str:
    """Decode a path or line that was encoded by `to_bytes`."""
    return data.decode("utf-8", "surrogateescape")


class Writer:
    """Writer of records.

    Each text is written once. Values are always written, since another process may have changed
    them in the meantime.
    """

    def __init__(self) -> None:
        self._out: list[bytes] = []
        self._written: set[bytes] = set()
        """Names of the texts and data already written."""
        self._anchors: dict[str, list[tuple[bytes, Text]]] = {}
        """Texts of each path from which later ones are written as changes."""
        self._names: OrderedDict[int, tuple[Text, bytes]] = OrderedDict()
        """The texts last used, with their names, by identity."""

    def take_records(self) -> list[bytes]:
        """Return the records made since the last call."""
        out, self._out = self._out, []
        return out

    def set(self, kind: str, key: bytes, value: Any) -> None:
        """Set the value of a key to anything that msgpack supports.

        Text that is not valid Unicode is replaced. Encode paths with `to_bytes`.
        """
        try:
            data = _encode(value)
        except UnicodeEncodeError:
            data = _encode(_clean_json(msgspec.to_builtins(value, builtin_types=(bytes,))))
        self._out.append(_encode(SetValue(kind, key, data)))

    def remove(self, kind: str, key: bytes) -> None:
        self._out.append(_encode(RemoveValue(kind, key)))

    def text(self, path: str, text: Text | None) -> bytes:
        """Write a text of this path if it is new. Return its name."""
        if text is None:
            return NONE
        known, name = self._names.get(id(text), (None, NONE))
        if known is not text:
            name = self._text(path, text)
        self._names[id(text)] = text, name
        self._names.move_to_end(id(text))
        if len(self._names) > REMEMBERED:
            self._names.popitem(last=False)
        return name

    def data(self, data: bytes | None) -> bytes:
        """Write bytes if they are new. Return their name."""
        if data is None:
            return NONE
        name = _digest_of(b"data", data)
        self._append_if_new(Data(name, data))
        return name

    def _text(self, path: str, text: Text) -> bytes:
        anchors = self._anchors.setdefault(path, [])
        for anchor, base in anchors:
            if text == base:
                return anchor
            rows = _changes(base, text)
            if rows is not None:
                parts = (part for row in rows for part in (b"%d %d" % row[:2], row[2]))
                name = _digest_of(anchor, b"%d" % text.eol, *parts)
                self._append_if_new(TextChange(name, anchor, text.eol, rows))
                return name
        lines = _pack_lines(text.lines)
        name = _digest_of(b"text", b"%d" % text.eol, lines)
        self._append_if_new(FullText(name, text.eol, lines))
        anchors[:] = [(name, text), *anchors][:ANCHORS]
        return name

    def _append_if_new(self, record: FullText | TextChange | Data) -> None:
        if record.name not in self._written:
            self._written.add(record.name)
            self._out.append(_encode(record))


def batch(records: list[bytes]) -> bytes:
    """Combine records into one, which is read as a whole or not at all."""
    return _encode(records)


class Reader:
    """Reader of records.

    `values` has the last value of each key, in the order of their first records.
    """

    def __init__(self, batches: Iterable[bytes] = ()) -> None:
        self.values: dict[Key, bytes] = {}
        self.lost = 0
        """Number of unreadable records."""
        self._contents: dict[bytes, FullText | TextChange | Data] = {}
        """Records of texts and data, by name."""
        self._texts: dict[bytes, Text] = {}
        """Texts already rebuilt, by name."""
        self.feed(batches)

    def feed(self, batches: Iterable[bytes]) -> dict[Key, None]:
        """Read further batches. Return the keys of their records, in order."""
        keys: dict[Key, None] = {}
        for data in batches:
            try:
                records = [_decode(record) for record in _decode_batch(data)]
            except msgspec.DecodeError:
                self.lost += 1
                continue
            for record in records:
                self._apply(record)
                if isinstance(record, SetValue | RemoveValue):
                    keys[record.kind, record.key] = None
        return keys

    def finish(self) -> bool:
        """Drop decoded texts, which can be decoded again. Return whether records were lost."""
        self._texts.clear()
        lost, self.lost = self.lost > 0, 0
        return lost

    def count_lost(self) -> None:
        """Count one more lost record."""
        self.lost += 1

    def value(self, kind: str, key: bytes, shape: type[T]) -> T | None:
        """Return the value of a key, or None. A value of another shape counts as lost."""
        value = self.values.get((kind, key))
        if value is None:
            return None
        try:
            return msgspec.msgpack.decode(value, type=shape)
        except msgspec.DecodeError:
            self.lost += 1
            return None

    def text(self, name: bytes) -> Text | None:
        """Return the text of a name. Raise `LostValueError`."""
        if name == NONE:
            return None
        if name not in self._texts:
            try:
                self._texts[name] = self._text(self._contents[name])
            except (KeyError, ValueError, msgspec.DecodeError) as error:
                raise LostValueError(f"a text is missing: {error}") from error
        return self._texts[name]

    def data(self, name: bytes) -> bytes | None:
        """Return the bytes of a name. Raise `LostValueError`."""
        if name == NONE:
            return None
        record = self._contents.get(name)
        if not isinstance(record, Data):
            raise LostValueError("bytes are missing")
        return record.data

    def _apply(self, record: Record) -> None:
        match record:
            case SetValue(kind, key, value):
                self.values[kind, key] = value
            case RemoveValue(kind, key):
                self.values.pop((kind, key), None)
            case _:
                self._contents[record.name] = record

    def _text(self, record: FullText | TextChange | Data) -> Text:
        match record:
            case FullText(_, eol, lines):
                return Text(_unpack_lines(lines), eol)
            case TextChange(_, of, eol, rows):
                base = self.text(of)
                if base is None:
                    raise ValueError("no text to change")
                hunks = [
                    Hunk(start, end, _unpack_lines(lines), start) for start, end, lines in rows
                ]
                return Text(tuple(apply(base.lines, hunks)), eol)
        raise ValueError("bytes in place of a text")


def _changes(base: Text, text: Text) -> list[Row] | None:
    """Return the changes between two texts, or None if they are not much smaller than the text."""
    limit = len(text.lines) // SMALL
    if len(set(text.lines).difference(base.lines)) > limit:
        return None
    hunks = diff(base.lines, text.lines)
    if sum(len(hunk.lines) + 1 for hunk in hunks) > limit:
        return None
    return [(hunk.start, hunk.end, _pack_lines(hunk.lines)) for hunk in hunks]


def _digest_of(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def _clean_json(value: Any) -> Any:
    """Replace characters that UTF-8 cannot encode, in all texts of a JSON value."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list() | tuple():
            return [_clean_json(item) for item in value]
        case dict():
            return {_clean_json(key): _clean_json(item) for key, item in value.items()}
    return value


def _pack_lines(lines: tuple[str, ...]) -> bytes:
    """Encode lines, including bytes that are not Unicode."""
    try:
        return _encode(lines)
    except UnicodeEncodeError:
        return _encode([line.encode("utf-8", "surrogatepass") for line in lines])


def _unpack_lines(lines: bytes) -> tuple[str, ...]:
    """Decode lines that were encoded by `_pack_lines`. Raise ValueError."""
    try:
        return msgspec.msgpack.decode(lines, type=tuple[str, ...])
    except msgspec.ValidationError:
        encoded = msgspec.msgpack.decode(lines, type=list[bytes])
        return tuple(line.decode("utf-8", "surrogatepass") for line in encoded)
