"""Server-sent events as bytes, and what Streamable HTTP reads of a message."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.agent.transport import envelopes
from acp_nvim.agent.transport.sse import Event, EventReader

STREAM = (
    b"\xef\xbb\xbf: a comment\n\n"
    b"id: 1\r\ndata: one\r\n\r\n"
    b"event: message\ndata: two\ndata:  lines\nretry: 5\n\n"
    b"id: x\n\n"
    b"data\ndata:three\rid\r\r"
    b"data: never ended"
)
EVENTS = [Event(b"one", "1"), Event(b"two\n lines", "1"), Event(b"\nthree", "")]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_any_split_of_a_stream_gives_its_events(cuts: list[int]) -> None:
    reader, events = EventReader(100), []
    for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), len(STREAM)], strict=True):
        events += reader.feed(STREAM[first:last])
    assert events == EVENTS


@given(st.binary(max_size=400), st.integers(1, 50))
def test_whatever_comes_nothing_raises_and_no_event_is_longer_than_one_byte_too_much(
    data: bytes, limit: int
) -> None:
    reader = EventReader(limit)
    assert all(len(event.data) <= limit + 1 for event in reader.feed(data + b"\n\n"))


def test_data_that_is_too_long_is_cut_one_byte_behind_the_limit_and_the_next_event_is_whole() -> (
    None
):
    reader = EventReader(10)
    events = reader.feed(b"data: " + b"x" * 99) + reader.feed(b"x" * 99 + b"\n\ndata: ok\n\n")
    assert [event.data for event in events] == [b"x" * 11, b"ok"]


def test_what_a_message_is_about_is_read_from_its_outside() -> None:
    asks = envelopes.read(b'{"id":1,"method":"a/b","params":{"sessionId":"s","big":[1]}}')
    assert (asks.is_request, asks.is_answer, asks.session, asks.opened) == (True, False, "s", None)
    answers = envelopes.read(b'{"id":"1","result":{"sessionId":"t","protocolVersion":1}}')
    assert (answers.is_answer, answers.opened, answers.version) == (True, "t", "1")
    tells = envelopes.read(b'{"method":"session/cancel","params":{"sessionId":"s"}}')
    assert (tells.is_request, tells.is_answer, tells.session) == (False, False, "s")


def test_a_message_that_cannot_be_read_is_about_nothing() -> None:
    for line in (b"", b"garbage", b"[1]", b'{"id":', b"\xff", b'{"params":{"sessionId":5}}', b"7"):
        found = envelopes.read(line)
        assert (found.session, found.opened, found.is_request) == (None, None, False)
