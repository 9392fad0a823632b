"""The stream under the peer: any split, long lines, the end.

No bytes raise or are searched twice.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.protocol import errors
from acp_nvim.protocol.jsonrpc import (
    Id,
    Notification,
    Peer,
    Request,
    Response,
    Updates,
    Violation,
)
from acp_nvim.protocol.lines import SHOWN_BYTES, TAIL_BYTES, LineSplitter
from tests.support.jsonrpc_events import answer, events, plain, violation

# Oversize lines and the end of the stream


def test_a_line_of_exactly_the_limit_passes() -> None:
    line = b'{"method":"m"}'
    assert [e[0] for e in events(line + b"\n", Peer(len(line)))] == ["Notification"]
    assert violation(line + b"\n", Peer(len(line) - 1)).kind == "oversize"


def test_an_oversize_line_is_skipped_and_the_next_one_read() -> None:
    peer = Peer(100)
    long = b'{"method":"m","params":{"x":"' + b"y" * 5000 + b'"}}\n'
    bad, after = peer.receive(long + b'{"method":"next"}\n')
    assert isinstance(bad, Violation)
    assert (bad.kind, bad.raw, bad.reply) == ("oversize", long[:SHOWN_BYTES], None)
    assert str(len(long) - 1) in bad.detail
    assert isinstance(after, Notification)


@pytest.mark.parametrize(
    "head",
    [
        b'{"jsonrpc":"2.0","id":5,"method":"fs/write_text_file","params":{"content":"',
        b'{ "id" : 5 , "method" : "m", "jsonrpc":"2.0","params":["',
        b'{"method":"m","id":5,"params":"',
    ],
)
def test_an_oversize_request_is_refused_under_its_id(head: bytes) -> None:
    event = violation(head + b"x" * 500 + b"\n", Peer(200))
    assert event.kind == "oversize"
    assert answer(event) == (5, errors.INVALID_REQUEST)


def test_an_oversize_response_fails_the_request_it_answers() -> None:
    peer = Peer(200)
    ours, _ = peer.request("m", {})
    bad, failed = peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":"%s"}\n' % (ours, b"x" * 500))
    assert isinstance(bad, Violation)
    assert isinstance(failed, Response)
    assert failed.error is not None
    assert failed.error.code == errors.INTERNAL_ERROR
    assert not peer.outgoing


@pytest.mark.parametrize(
    ("line", "who"),
    [
        (b'{"jsonrpc":"2.0","method":"m","params":{"id":3,"x":"%s"},"id":5}', 5),
        (b'{"params":["%s"], "method" : "m" , "id" : "a\\"b", "jsonrpc":"2.0" } \r', 'a"b'),
        (b'{"method":"m","params":{"x":"%s","id":5}}', None),
        (b'{"method":"m","params":"%s,\\"id\\":5"}', None),
        (b'{"method":"m","params":{"x":"%s","id":5},"_meta":null}', None),
    ],
)
@pytest.mark.parametrize("size", [300, 5000])
def test_the_id_at_the_end_of_an_oversize_request_is_found(line: bytes, who: Id, size: int) -> None:
    whole = line % (b"x" * size) + b"\n"
    for pieces in ([whole], [whole[i : i + 7] for i in range(0, len(whole), 7)]):
        peer = Peer(200)
        (event,) = [event for piece in pieces for event in peer.receive(piece)]
        assert isinstance(event, Violation)
        assert event.kind == "oversize"
        assert (event.reply is None) == (who is None)
        if who is not None:
            assert answer(event) == (who, errors.INVALID_REQUEST)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","result":{"x":"%s"},"id":1}\n',
        b'{"error":{"code":1,"message":"%s"},"id":1,"jsonrpc":"2.0"}\n',
    ],
)
def test_an_oversize_response_with_its_id_at_the_end_fails_its_request(line: bytes) -> None:
    peer = Peer(200)
    assert peer.request("m", {})[0] == 1
    bad, failed = peer.receive(line % (b"x" * 5000))
    assert isinstance(bad, Violation)
    assert isinstance(failed, Response)
    assert failed.error is not None
    assert not peer.outgoing


def test_the_id_at_the_end_of_an_unreadable_line_is_found() -> None:
    peer = Peer()
    assert peer.request("m", {})[0] == 1
    bad, failed = peer.receive(b'{"jsonrpc":"2.0","result":{"x":NaN},"id":1}\n')
    assert isinstance(bad, Violation)
    assert isinstance(failed, Response)
    (bad,) = peer.receive(b'{"jsonrpc":"2.0","method":"m","params":{"x":"\xff"},"id":7}\n')
    assert isinstance(bad, Violation)
    assert answer(bad) == (7, errors.PARSE_ERROR)


def test_an_oversize_line_is_not_buffered() -> None:
    lines = LineSplitter(10_000)
    for _ in range(1_000):
        assert list(lines.feed(b"x" * 100)) == []
        assert lines.held <= 10_000
    assert lines.held == SHOWN_BYTES + TAIL_BYTES


CUT = [
    b'{"method":"m"',
    b'{"method":"m","params":{}',
    b'{"id":1,"result":{}',
    b'{"id":1,"result":{}}{',
    b'{"id":1,"result":{}}}',
    b'{"method":"a"}{"method":"b"}',
    b'{"method":"m","params":' + b"[" * 999_999 + b"]" * 999_999 + b"}",
    b'{"method":"\xff"}',
    b"42",
    b"[]",
    b"bye",
]


@pytest.mark.parametrize("line", CUT)
def test_an_end_inside_a_line_is_an_error(line: bytes) -> None:
    peer = Peer()
    peer.request("asked", {})
    assert peer.receive(line) == []
    (event,) = peer.close()
    assert isinstance(event, Violation)
    assert (event.kind, event.raw, event.reply) == ("eof", line[:SHOWN_BYTES], None)
    assert set(peer.outgoing) == {1}
    assert peer.close() == []


WHOLE = [
    b'{"method":"m"}',
    b'{"method":"m"} \r',
    b'\xef\xbb\xbf{"method":"m"}',
    b' {"id":7,"method":"m","params":{"t":"h\xc3\xa9 \\ud83d"}}',
    b'{"id":1.0,"result":{}}',
    b'{"id":1,"result":{}}',
    b'{"id":1,"error":{"code":-1,"message":"x"}}',
    b'{"jsonrpc":"2.0"}',
]


@pytest.mark.parametrize("line", WHOLE)
def test_a_whole_message_at_the_end_needs_no_newline(line: bytes) -> None:
    ended, peer = Peer(), Peer()
    for either in (ended, peer):
        either.request("asked", {})
    assert peer.receive(line) == []
    (event,) = peer.close()
    assert [plain(event)] == events(line + b"\n", ended)
    assert dict(peer.incoming) == dict(ended.incoming)
    assert dict(peer.outgoing) == dict(ended.outgoing)
    assert peer.close() == []


def test_an_update_at_the_end_is_read_like_others() -> None:
    update = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}'
    line = b'{"method":"session/update","params":{"sessionId":"s","update":%s}}' % update
    peer = Peer()
    peer.reads_updates = True
    assert peer.receive(line) == []
    (event,) = peer.close()
    assert isinstance(event, Updates)
    assert [message.session_id for message in event.messages] == ["s"]


def test_the_end_after_blanks_is_clean() -> None:
    peer = Peer()
    peer.receive(b'{"method":"m"}\n \r')
    assert peer.close() == []


# Properties

PIECES = [
    b'{"jsonrpc":"2.0","method":"n","params":{"t":"h\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"}}\n',
    b'{"method":"n"}\r\n',
    b'{"id":1,"method":"m"}\n',
    b'{"id":"1","method":"m","params":{}}\n',
    b'{"id":1,"result":{}}\n',
    b'{"id":2,"error":{"code":-1,"message":"x"}}\n',
    b'{"id":true,"method":"m"}\n',
    b'{"id":1.0,"method":"m"}\n',
    b'{"id":2.0,"result":{}}\n',
    b'{"a":\n',
    b'{"b":1}}\n{\n',
    b"{}{}\n",
    b"[]\n",
    b"42\n",
    b"\xff\xfe\n",
    b"\n",
    b"\r\n",
    b'{"method":"\\ud83d"}\n',
    b'{"id":3,"method":"long","params":"' + b"z" * 120 + b'"}\n',
    b'{"id":2,"result":"' + b"z" * 120 + b'"}\n',
    b'{"unfinished"',
]


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=12),
    noise=st.binary(max_size=12),
    cuts=st.lists(st.integers(0, 1500), max_size=20),
)
def test_any_split_gives_the_same_events(
    pieces: list[bytes], noise: bytes, cuts: list[int]
) -> None:
    data = b"".join(pieces) + noise
    whole = run([data])
    assert run([data[i : i + 1] for i in range(len(data))]) == whole
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    assert run([data[a:b] for a, b in pairwise(ends)]) == whole
    assert run(data.splitlines(keepends=True)) == whole


def run(parts: list[bytes]) -> tuple[list[tuple[object, ...]], object, object]:
    """Return all events and open requests of a peer with two requests and small limits."""
    peer = Peer(message_bytes=100)
    peer.request("first", {})
    peer.request("second", {})
    seen = [plain(event) for part in parts for event in peer.receive(part)]
    seen += [plain(event) for event in peer.close()]
    return seen, dict(peer.incoming), dict(peer.outgoing)


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    peer = Peer(message_bytes=64)
    for event in (*peer.receive(data), *peer.receive(b"\n"), *peer.close()):
        assert not isinstance(event, Violation) or len(event.raw) <= SHOWN_BYTES


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(params=st.dictionaries(st.text(), JSON, max_size=4), result=JSON)
def test_two_peers_understand_each_other(params: dict[str, Any], result: Any) -> None:
    client, agent = Peer(), Peer()
    request_id, line = client.request("m", params)
    (asked,) = agent.receive(line)
    assert isinstance(asked, Request)
    assert (asked.id, json.loads(bytes(asked.params))) == (request_id, params)
    (answered,) = client.receive(agent.respond(asked.id, {"r": result}))
    assert isinstance(answered, Response)
    assert answered.result is not None
    assert json.loads(bytes(answered.result)) == {"r": result}
    assert not client.outgoing
    assert not agent.incoming


NUMBER = r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?"


@given(digits=st.from_regex(NUMBER, fullmatch=True).filter(lambda digits: digits != "-0"))
def test_a_numeric_id_is_returned_unchanged(digits: str) -> None:
    before, after = b'{"id":"a","method":"m"}\n', b'{"method":"n"}\n'
    peer = Peer()
    first, asked, last = peer.receive(
        before + b'{"id":%s,"method":"m"}\n' % digits.encode() + after
    )
    assert isinstance(first, Request)
    assert isinstance(last, Notification)
    assert isinstance(asked, Request)
    (bad,) = peer.receive(b'{"id":%s,"method":"m"}\n' % digits.encode())
    assert isinstance(bad, Violation)
    assert bad.kind == "duplicate"
    reply = peer.refuse(asked.id, errors.INVALID_PARAMS, "no")
    assert reply.startswith(b'{"jsonrpc":"2.0","id":%s,"error":' % digits.encode())
    assert set(peer.incoming) == {"a"}


class Counted(bytes):
    """Bytes that count their searched and copied bytes."""

    touched = 0

    def _count(self, start: int, end: int) -> None:
        Counted.touched += end - start

    def rfind(self, *args: Any) -> int:
        self._count(0, len(self))
        return super().rfind(*args)

    def find(self, *args: Any) -> int:
        self._count(0, len(self))
        return super().find(*args)

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        self._count(0, len(part) if isinstance(part, bytes) else 1)
        return part


def test_each_byte_of_a_long_line_is_searched_a_bounded_number_of_times() -> None:
    """60 MB in pieces of 64 KiB. The unfinished part is never searched again."""
    Counted.touched = 0
    size = 60 << 20
    head, tail = b'{"method":"m","params":{"x":"', b'"}}\n'
    peer = Peer()
    assert peer.receive(Counted(head)) == []
    piece = Counted(b"a" * (64 << 10))
    for _ in range(size // len(piece)):
        assert peer.receive(piece) == []
    (event,) = peer.receive(Counted(tail))
    assert isinstance(event, Notification)
    assert len(bytes(event.params)) == size + len(b'{"x":""}')
    assert Counted.touched <= 3 * (size + len(head) + len(tail))
