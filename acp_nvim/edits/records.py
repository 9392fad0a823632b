"""Values of a journal as records, and back: each value under a key, the last one counts.

Texts are records of their own, by a name that their content gives, so that a text which many
values hold is written once. The first text of a path is written as it is, others as what they
change in that one: a journal grows by what changed, whatever the size of the files.
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
"""The most texts whose names are remembered by object."""
ANCHORS = 3
"""The most texts of a path that others are written as changes of; the latest are used."""
SMALL = 2
"""A text is written as a change when that is smaller by this factor."""

NONE = b""
"""The name of no text."""
Row = tuple[int, int, bytes]
"""Rows [start, end) of a text, and the lines in their place."""
Key = tuple[str, bytes]
"""A kind of value, and which one of that."""
T = TypeVar("T")


class Lost(Exception):
    """A value is lost: its record, or one that it needs, is damaged or missing."""


class Whole(msgspec.Struct, frozen=True, tag="text", array_like=True):
    """A text."""

    name: bytes
    eol: bool
    lines: bytes


class Changed(msgspec.Struct, frozen=True, tag="change", array_like=True):
    """A text as a change of another one."""

    name: bytes
    of: bytes
    eol: bool
    hunks: list[Row]


class Data(msgspec.Struct, frozen=True, tag="data", array_like=True):
    """Plain bytes."""

    name: bytes
    data: bytes


class Put(msgspec.Struct, frozen=True, tag="put", array_like=True):
    """Sets the value of a key."""

    kind: str
    key: bytes
    value: bytes


class Drop(msgspec.Struct, frozen=True, tag="drop", array_like=True):
    """Removes a key."""

    kind: str
    key: bytes


Record = Whole | Changed | Data | Put | Drop
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode
_decode_batch = msgspec.msgpack.Decoder(list[bytes]).decode


def encoded(path: str) -> bytes:
    """Encode a path, which may hold bytes that are not UTF-8."""
    return path.encode("utf-8", "surrogateescape")


def decoded(path: bytes) -> str:
    """The path of `encoded`."""
    return path.decode("utf-8", "surrogateescape")


class Writer:
    """Makes records. Texts are remembered: none is written twice. Values are not, since another
    process may have set them meanwhile.
    """

    def __init__(self) -> None:
        self._out: list[bytes] = []
        self._written: set[bytes] = set()
        self._anchors: dict[str, list[tuple[bytes, Text]]] = {}
        self._names: OrderedDict[int, tuple[Text, bytes]] = OrderedDict()

    def take(self) -> list[bytes]:
        """Return the records made since the last call."""
        out, self._out = self._out, []
        return out

    def put(self, kind: str, key: bytes, value: Any) -> None:
        """Set the value of a key: anything that msgpack takes. Text that is not Unicode is cleaned;
        encode paths with `encoded`.
        """
        try:
            data = _encode(value)
        except UnicodeEncodeError:
            data = _encode(_cleaned(msgspec.to_builtins(value, builtin_types=(bytes,))))
        self._out.append(_encode(Put(kind, key, data)))

    def drop(self, kind: str, key: bytes) -> None:
        """Remove a key."""
        self._out.append(_encode(Drop(kind, key)))

    def text(self, path: str, text: Text | None) -> bytes:
        """Write a text of this path, if it is new; returns its name."""
        if text is None:
            return NONE
        held, name = self._names.get(id(text), (None, NONE))
        if held is not text:
            name = self._text(path, text)
        self._names[id(text)] = text, name
        self._names.move_to_end(id(text))
        if len(self._names) > REMEMBERED:
            self._names.popitem(last=False)
        return name

    def data(self, data: bytes | None) -> bytes:
        """Write some bytes, if they are new; returns their name."""
        if data is None:
            return NONE
        name = _named(b"data", data)
        self._once(Data(name, data))
        return name

    def _text(self, path: str, text: Text) -> bytes:
        anchors = self._anchors.setdefault(path, [])
        for anchor, base in anchors:
            if text == base:
                return anchor
            rows = _changes(base, text)
            if rows is not None:
                parts = (part for row in rows for part in (b"%d %d" % row[:2], row[2]))
                name = _named(anchor, b"%d" % text.eol, *parts)
                self._once(Changed(name, anchor, text.eol, rows))
                return name
        lines = _packed(text.lines)
        name = _named(b"text", b"%d" % text.eol, lines)
        self._once(Whole(name, text.eol, lines))
        anchors[:] = [(name, text), *anchors][:ANCHORS]
        return name

    def _once(self, record: Whole | Changed | Data) -> None:
        if record.name not in self._written:
            self._written.add(record.name)
            self._out.append(_encode(record))


def batch(records: list[bytes]) -> bytes:
    """Several records as one: all of them are read, or none."""
    return _encode(records)


class Reader:
    """Reads records: the values left in the end, in the order of their keys' first records."""

    def __init__(self, batches: Iterable[bytes] = ()) -> None:
        self.values: dict[Key, bytes] = {}
        self.lost = 0
        """How many records could not be read."""
        self._held: dict[bytes, Whole | Changed | Data] = {}
        self._texts: dict[bytes, Text] = {}
        self.feed(batches)

    def feed(self, batches: Iterable[bytes]) -> dict[Key, None]:
        """Read on in what `batch` has made; returns the keys of these records, in order."""
        keys: dict[Key, None] = {}
        for one in batches:
            try:
                records = [_decode(record) for record in _decode_batch(one)]
            except msgspec.DecodeError:
                self.lost += 1
                continue
            for record in records:
                self._take(record)
                if isinstance(record, Put | Drop):
                    keys[record.kind, record.key] = None
        return keys

    def settle(self) -> bool:
        """Drop texts that were made of their records, since they can be made again. Returns whether
        anything was lost since the last call.
        """
        self._texts.clear()
        lost, self.lost = self.lost > 0, 0
        return lost

    def lose(self) -> None:
        """One more record makes no sense here."""
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
        """The text of that name. Raises `Lost`."""
        if name == NONE:
            return None
        if name not in self._texts:
            try:
                self._texts[name] = self._text(self._held[name])
            except (KeyError, ValueError, msgspec.DecodeError) as error:
                raise Lost(f"a text is missing: {error}") from error
        return self._texts[name]

    def data(self, name: bytes) -> bytes | None:
        """The bytes of that name. Raises `Lost`."""
        if name == NONE:
            return None
        found = self._held.get(name)
        if not isinstance(found, Data):
            raise Lost("bytes are missing")
        return found.data

    def _take(self, record: Record) -> None:
        match record:
            case Put(kind, key, value):
                self.values[kind, key] = value
            case Drop(kind, key):
                self.values.pop((kind, key), None)
            case _:
                self._held[record.name] = record

    def _text(self, record: Whole | Changed | Data) -> Text:
        match record:
            case Whole(_, eol, lines):
                return Text(_unpacked(lines), eol)
            case Changed(_, of, eol, rows):
                base = self.text(of)
                if base is None:
                    raise ValueError("no text to change")
                hunks = [Hunk(start, end, _unpacked(lines), start) for start, end, lines in rows]
                return Text(tuple(apply(base.lines, hunks)), eol)
        raise ValueError("bytes in place of a text")


def _changes(base: Text, text: Text) -> list[Row] | None:
    """The changes between two texts; None where they are not much smaller than the text."""
    most = len(text.lines) // SMALL
    if len(set(text.lines).difference(base.lines)) > most:
        return None
    hunks = diff(base.lines, text.lines)
    if sum(len(hunk.lines) + 1 for hunk in hunks) > most:
        return None
    return [(hunk.start, hunk.end, _packed(hunk.lines)) for hunk in hunks]


def _named(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list() | tuple():
            return [_cleaned(item) for item in value]
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    return value


def _packed(lines: tuple[str, ...]) -> bytes:
    """Encode lines; bytes that are not Unicode are kept."""
    try:
        return _encode(lines)
    except UnicodeEncodeError:
        return _encode([line.encode("utf-8", "surrogatepass") for line in lines])


def _unpacked(lines: bytes) -> tuple[str, ...]:
    """Decode the lines of `_packed`. Raises ValueError."""
    try:
        return msgspec.msgpack.decode(lines, type=tuple[str, ...])
    except msgspec.ValidationError:
        found = msgspec.msgpack.decode(lines, type=list[bytes])
        return tuple(line.decode("utf-8", "surrogatepass") for line in found)
