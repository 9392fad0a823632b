"""Server-sent events as bytes, and the routing data of Streamable HTTP messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.agent.transport import envelopes
from acp_nvim.agent.transport.sse import HEAD, Event, EventReader

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
def test_any_bytes_are_parsed_into_events_within_the_limit(data: bytes, limit: int) -> None:
    reader = EventReader(limit)
    events = reader.feed(data + b"\n\n")
    assert all(len(event.data) <= (limit if event.is_whole else HEAD) for event in events)


@pytest.mark.parametrize("data", [b"data: " + b"x" * 99, b"data: xxxxxx\n" * 9])
def test_long_data_is_cut_and_the_next_event_is_whole(
    data: bytes,
) -> None:
    reader = EventReader(10)
    events = reader.feed(data) + reader.feed(data + b"\n\ndata: ok\n\n")
    assert [event.is_whole for event in events] == [False, True]
    assert (events[0].data[:6], events[1].data) == (b"xxxxxx", b"ok")


def test_a_long_comment_changes_no_event() -> None:
    events = EventReader(10).feed(b"data: ok\n: " + b"x" * 99 + b"\nid: 7\n\n")
    assert events == [Event(b"ok", "7")]


def test_routing_data_is_read_without_decoding_the_message() -> None:
    asks = envelopes.read(b'{"id":1,"method":"a/b","params":{"sessionId":"s","big":[1]}}')
    assert (asks.is_request, asks.is_answer, asks.session, asks.opened_session) == (
        True,
        False,
        "s",
        None,
    )
    answers = envelopes.read(b'{"id":"1","result":{"sessionId":"t","protocolVersion":1}}')
    assert (answers.is_answer, answers.opened_session, answers.version) == (True, "t", "1")
    tells = envelopes.read(b'{"method":"session/cancel","params":{"sessionId":"s"}}')
    assert (tells.is_request, tells.is_answer, tells.session) == (False, False, "s")


def test_an_unreadable_message_has_no_routing_data() -> None:
    for line in (b"", b"garbage", b"[1]", b'{"id":', b"\xff", b'{"params":{"sessionId":5}}', b"7"):
        found = envelopes.read(line)
        assert (found.session, found.opened_session, found.is_request) == (None, None, False)
