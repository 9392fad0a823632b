"""Values and texts as records, and back."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits.records import (
    NONE,
    LostValueError,
    Reader,
    Writer,
    batch,
    from_bytes,
    to_bytes,
)
from acp_nvim.edits.text import Text

lines = st.lists(st.sampled_from([*"abc", "", "ä", "\0", "\n", "x\n", "\ud800"]), min_size=1)
texts = st.builds(Text, lines.map(tuple), st.booleans())


@given(st.lists(st.tuples(st.sampled_from(["/a", "/b"]), texts | st.none()), max_size=12))
def test_each_text_is_found_by_its_name(given_texts: list[tuple[str, Text | None]]) -> None:
    writer = Writer()
    names = [writer.text(path, text) for path, text in given_texts]
    reader = Reader([batch(writer.take_records())])
    assert reader.lost == 0
    for name, (_, text) in zip(names, given_texts, strict=True):
        assert reader.text(name) == text


@given(texts)
def test_a_text_is_written_once(text: Text) -> None:
    writer = Writer()
    name = writer.text("/a", text)
    assert len(writer.take_records()) == 1
    assert writer.text("/a", Text(text.lines, text.eol)) == name
    assert writer.text("/b", Text(text.lines, text.eol)) == name
    assert writer.take_records() == []


def test_small_changes_take_small_records() -> None:
    base = Text(tuple(f"line {n}" for n in range(1000)))
    writer = Writer()
    writer.text("/a", base)
    writer.take_records()
    for n in range(20):
        changed = Text((*base.lines[:n], f"new {n}", *base.lines[n:]))
        writer.text("/a", changed)
        assert sum(map(len, writer.take_records())) < 100


def test_two_different_texts_of_a_file_both_grow_by_their_changes() -> None:
    """An example is base and live text of a file that the agent rewrote while the user typed."""
    writer = Writer()
    sides = [Text(tuple(f"{side} {n}" for n in range(1000))) for side in "ab"]
    for side in sides:
        writer.text("/a", side)
    writer.take_records()
    for n in range(5):
        for side in sides:
            writer.text("/a", Text((*side.lines, f"typed {n}")))
        assert sum(map(len, writer.take_records())) < 200


@given(st.text(st.characters(codec="utf-8")), st.binary())
def test_any_path_is_read_as_it_was_written(name: str, noise: bytes) -> None:
    for path in (name, noise.decode("utf-8", "surrogateescape")):
        assert from_bytes(to_bytes(path)) == path


def test_the_last_value_of_a_key_counts_and_one_that_is_dropped_is_gone() -> None:
    writer = Writer()
    writer.set("n", b"a", 1)
    writer.set("n", b"b", 2)
    writer.set("n", b"a", 3)
    writer.set("m", b"a", 4)
    writer.remove("m", b"a")
    writer.remove("m", b"never")
    reader = Reader([batch(writer.take_records())])
    assert list(reader.values) == [("n", b"a"), ("n", b"b")]
    assert [reader.value("n", key, int) for key in (b"a", b"b")] == [3, 2]
    assert reader.value("m", b"a", int) is None
    writer.set("n", b"b", 2)
    assert writer.take_records() != []  # another process may have set another value meanwhile


def test_invalid_records_are_counted() -> None:
    writer = Writer()
    writer.set("n", b"a", "no number")
    reader = Reader([b"noise", b"", batch([b"noise"]), batch(writer.take_records())])
    assert reader.value("n", b"a", int) is None
    assert reader.lost == 4


def test_a_reader_continues_with_added_records() -> None:
    writer = Writer()
    base = Text(tuple(f"line {n}" for n in range(10)))
    writer.set("n", b"a", writer.text("/a", base))
    reader = Reader([batch(writer.take_records())])
    more = Text((*base.lines, "more"))
    writer.set("n", b"b", writer.text("/a", more))
    writer.remove("n", b"a")
    assert list(reader.feed([batch(writer.take_records())])) == [("n", b"b"), ("n", b"a")]
    name = reader.value("n", b"b", bytes)
    assert name is not None
    assert reader.text(name) == more
    assert reader.value("n", b"a", bytes) is None


def test_a_record_that_needs_a_lost_one_is_lost() -> None:
    base = Text(tuple(f"line {n}" for n in range(10)))
    writer = Writer()
    first = writer.text("/a", base)
    second = writer.text("/a", Text((*base.lines, "more")))
    other = writer.text("/b", Text(("other",)))
    kept = writer.data(b"bytes")
    reader = Reader([batch(writer.take_records()[1:])])
    for name in (first, second, b"unknown", kept):
        with pytest.raises(LostValueError):
            reader.text(name)
    assert reader.text(other) == Text(("other",))
    assert reader.data(kept) == b"bytes"
    assert reader.data(NONE) is None
    with pytest.raises(LostValueError):
        reader.data(other)


def test_stored_tags_never_change() -> None:
    """A journal may be read by an older or a newer version of the plugin."""
    base = Text(tuple("abcdefgh"))
    writer = Writer()
    writer.text("/a", base)
    writer.text("/a", Text((*base.lines, "i")))
    writer.data(b"data")
    writer.set("file", b"/a", 1)
    writer.remove("file", b"/a")
    tags = [msgspec.msgpack.decode(record)[0] for record in writer.take_records()]
    assert tags == ["text", "change", "data", "put", "drop"]
