"""The JSON-RPC peer: each rule in a table."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.protocol import errors, schema
from acp_nvim.protocol.blocks import MAX_NESTING, is_nested_too_deep
from acp_nvim.protocol.errors import LocalProtocolError
from acp_nvim.protocol.jsonrpc import Notification, Peer, Request, Response, Violation
from acp_nvim.protocol.lines import SHOWN_BYTES
from tests.support.jsonrpc_events import answer, events, violation


def test_the_three_kinds_of_message() -> None:
    peer = Peer()
    request_id, line = peer.request("session/prompt", {"x": 1})
    assert json.loads(line) == {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": "session/prompt",
        "params": {"x": 1},
    }
    data = (
        b'{"jsonrpc":"2.0","id":0,"method":"a","params":{"p":1}}\n'
        b'{"jsonrpc":"2.0","method":"b"}\n'
        b'{"jsonrpc":"2.0","id":%d,"result":[2]}\n' % request_id
    )
    assert events(data, peer) == [
        ("Request", 0, "a", b'{"p":1}'),
        ("Notification", "b", b"{}"),
        ("Response", request_id, "session/prompt", b"[2]", None),
    ]
    assert dict(peer.incoming) == {0: "a"}
    assert dict(peer.outgoing) == {}


@pytest.mark.parametrize(
    "wire_id",
    [
        *("0", "1", "-5", '"1"', '""', "null", str(2**63 - 1), str(-(2**63))),
        *(str(2**63), str(-(2**63) - 1), str(2**64), "9" * 5000),
        *("1.5", "1.0", "-0.5", "1e3", "1E+400", "0.1e-7", "9007199254740993.0"),
    ],
)
def test_ids_are_echoed_exactly(wire_id: str) -> None:
    peer = Peer()
    (event,) = peer.receive(b'{"id":%s,"method":"m"}\n' % wire_id.encode())
    assert isinstance(event, Request)
    reply = peer.respond(event.id, {"ok": True})
    assert reply == b'{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}\n' % wire_id.encode()


@pytest.mark.parametrize("method", ["m", "session/update"])
@pytest.mark.parametrize("depth", [90, 99, 100, 200, 600, 1000, 5000, 20_000, 100_000])
@pytest.mark.parametrize("ends", [("[", "]"), ('{"a":', "}")])
def test_a_message_is_refused_if_it_is_nested_deeper_than_100_levels(
    depth: int, method: str, ends: tuple[str, str]
) -> None:
    peer = Peer()
    value = ends[0] * (depth - 1) + "[]" + ends[1] * (depth - 1)
    (event,) = peer.receive(f'{{"id":1,"method":"{method}","params":{value}}}\n'.encode())
    if depth < 100:
        assert isinstance(event, Request)
        _written_below(300, msgspec.json.decode(event.params))
    else:
        assert isinstance(event, Violation)
        assert event.reply is not None
        assert json.loads(event.reply)["id"] == 1
        assert json.loads(event.reply)["error"]["code"] == errors.PARSE_ERROR


@given(
    st.text('[]{}\\"a'),
    st.sampled_from([500, 20_000]),
    st.integers(0, 50),
    st.integers(90, 110),
    st.booleans(),
)
def test_brackets_in_text_are_no_levels(
    text: str, copies: int, short: int, depth: int, is_after: bool
) -> None:
    nested: Any = None
    for _ in range(depth - 1):
        nested = [nested]
    members = [*["[a]"] * short, text * copies, nested]
    line = msgspec.json.encode(members[::-1] if is_after else members)
    assert is_nested_too_deep(line) == (depth > MAX_NESTING)


def _written_below(calls: int, value: object) -> None:
    """Encode a value at a stack that is deeper by so many calls."""
    if calls:
        _written_below(calls - 1, value)
    else:
        msgspec.json.encode(value)


def test_a_number_and_a_string_are_different_ids() -> None:
    peer = Peer()
    data = b'{"id":1,"method":"m"}\n{"id":"1","method":"n"}\n{"id":null,"method":"o"}\n'
    assert [e[:2] for e in events(data, peer)] == [
        ("Request", 1),
        ("Request", "1"),
        ("Request", None),
    ]
    peer.respond("1", {})
    assert set(peer.incoming) == {1, None}
    ours, _ = peer.request("m", {})
    assert violation(b'{"id":"%d","result":{}}\n' % ours, peer).kind == "response"
    assert ours in peer.outgoing


def test_numbers_with_other_digits_are_different_ids() -> None:
    peer = Peer()
    ids = [b"1", b"1.0", b"1e0", b'"1.0"', b"10e-1"]
    for wire_id in ids:
        assert [e[0] for e in events(b'{"id":%s,"method":"m"}\n' % wire_id, peer)] == ["Request"]
    assert violation(b'{"method":"m","id": 1.0 }\n', peer).kind == "duplicate"
    assert sorted(map(repr, peer.incoming)) == ["'1.0'", "1", "1.0", "10e-1", "1e0"]


@pytest.mark.parametrize("wire_id", ["%d.0", "%de0", "%d0e-1"])
def test_an_answer_may_write_the_id_in_another_form(wire_id: str) -> None:
    peer = Peer()
    ours, _ = peer.request("m", {})
    line = f'{{"jsonrpc":"2.0","id":{wire_id % ours},"result":[1]}}\n'.encode()
    assert events(line, peer) == [("Response", ours, "m", b"[1]", None)]
    assert not peer.outgoing
    assert violation(line, peer).kind == "response"


@pytest.mark.parametrize("wire_id", [b"1.5", b"18446744073709551616"])
def test_a_bad_request_is_refused_under_its_id(wire_id: bytes) -> None:
    for line in (
        b'{"id":%s,"method":7}',
        b'{"id":%s,"method":null,"params":{}}',
        b'{"id":%s,"method":"m","params":',
        b'{"id":%s,"method":"m","params":"' + b"x" * 200 + b'"}',
    ):
        event = violation(line % wire_id + b"\n", Peer(150))
        assert event.reply is not None
        assert b'"id":%s,' % wire_id in event.reply


def test_each_request_is_answered_exactly_once() -> None:
    peer = Peer()
    peer.receive(b'{"id":7,"method":"m"}\n{"id":8,"method":"m"}\n')
    peer.respond(7, None)
    refusal = json.loads(peer.refuse(8, errors.INVALID_PARAMS, "no", {"path": "/x"}))
    assert refusal["error"] == {"code": -32602, "message": "no", "data": {"path": "/x"}}
    for settled in (7, 8, 9, None, "7"):
        with pytest.raises(LocalProtocolError):
            peer.respond(settled, {})
        with pytest.raises(LocalProtocolError):
            peer.refuse(settled, -1, "again")


@pytest.mark.parametrize("wire_id", ["0", '"1"', "null", "1.50", str(2**64), "9" * 5000])
def test_a_request_whose_id_is_open_gets_an_answer_of_its_own(wire_id: str) -> None:
    """The second is refused at once, whatever it asks; the first is answered as usual."""
    peer = Peer()
    (first,) = peer.receive(b'{"id":%s,"method":"m"}\n' % wire_id.encode())
    assert isinstance(first, Request)
    for method in ("m", "n"):
        line = b'{"id":%s,"method":"%s"}\n' % (wire_id.encode(), method.encode())
        refusal = violation(line, peer).reply or b""
        assert refusal.startswith(b'{"jsonrpc":"2.0","id":%s,"error":' % wire_id.encode())
        assert b'"error":{"code":%d,' % errors.INVALID_REQUEST in refusal
    reply = peer.respond(first.id, {"ok": True})
    assert reply == b'{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}\n' % wire_id.encode()
    assert not peer.incoming


def test_an_id_may_be_used_again_after_its_answer() -> None:
    peer = Peer()
    peer.receive(b'{"id":7,"method":"m"}\n')
    duplicate = violation(b'{"id":7,"method":"n"}\n', peer)
    assert duplicate.kind == "duplicate"
    assert answer(duplicate) == (7, errors.INVALID_REQUEST)
    assert "request 7 is already open" in duplicate.detail
    assert dict(peer.incoming) == {7: "m"}
    peer.respond(7, {})
    assert events(b'{"id":7,"method":"n"}\n', peer) == [("Request", 7, "n", b"{}")]


@pytest.mark.parametrize(
    ("line", "kind", "code"),
    [
        (b"nonsense", "json", errors.PARSE_ERROR),
        (b'{"method":', "json", errors.PARSE_ERROR),
        (b'{"id":01.5,"method":"m"', "json", errors.PARSE_ERROR),
        (b'{"method":"a"} {"method":"b"}', "json", errors.PARSE_ERROR),
        (b'{"method":"a","params":{"x":"\x01"}}', "json", errors.PARSE_ERROR),
        (b'{"method":"m","params":' + b"[" * 999_999 + b"]" * 999_999 + b"}", "json", -32700),
        (b'{"method":"a","params":{"x":"\xff"}}', "utf8", errors.PARSE_ERROR),
        (b"\xed\xa0\x80", "utf8", errors.PARSE_ERROR),
        (b"42", "message", errors.INVALID_REQUEST),
        (b"null", "message", errors.INVALID_REQUEST),
        (b'"x"', "message", errors.INVALID_REQUEST),
        (b"true", "message", errors.INVALID_REQUEST),
        (b"{}", "message", errors.INVALID_REQUEST),
        (b'{"id":3}', "message", errors.INVALID_REQUEST),
        (b"[]", "batch", errors.INVALID_REQUEST),
        (b'[{"id":1,"method":"m"},{"id":2,"method":"m"}]', "batch", errors.INVALID_REQUEST),
        (b'{"id":true,"method":"m"}', "message", errors.INVALID_REQUEST),
        (b'{"id":{},"method":"m"}', "message", errors.INVALID_REQUEST),
        (b'{"id":[1],"method":"m"}', "message", errors.INVALID_REQUEST),
        (b'{"method":7}', "message", errors.INVALID_REQUEST),
        (b'{"result":{}}', "message", errors.INVALID_REQUEST),
    ],
)
def test_an_invalid_message_is_refused_once_with_a_null_id(
    line: bytes, kind: str, code: int
) -> None:
    peer = Peer()
    bad, after = peer.receive(line + b'\n{"method":"next"}\n')
    assert isinstance(bad, Violation)
    assert bad.kind == kind
    assert bad.raw == line[:SHOWN_BYTES]
    assert answer(bad) == (None, code)
    assert isinstance(after, Notification)
    assert not peer.incoming


def test_a_bad_request_is_refused_under_its_own_id_unless_that_is_open() -> None:
    peer = Peer()
    assert answer(violation(b'{"id":4,"method":7}\n', peer)) == (4, errors.INVALID_REQUEST)
    peer.receive(b'{"id":4,"method":"m"}\n')
    assert answer(violation(b'{"id":4,"method":7}\n', peer)) == (None, errors.INVALID_REQUEST)


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":99,"result":{}}',
        b'{"id":null,"error":{"code":-32700,"message":"parse"}}',
        b'{"id":null,"result":null}',
        b'{"id":1.5,"result":{}}',
        b'{"id":"x","error":{"code":1,"message":""}}',
    ],
)
def test_a_response_that_matches_nothing_is_never_answered(line: bytes) -> None:
    peer = Peer()
    ours, _ = peer.request("m", {})
    event = violation(line + b"\n", peer)
    assert (event.kind, event.reply, event.raw) == ("response", None, line)
    assert ours in peer.outgoing


@pytest.mark.parametrize("id", [b'"id":null,', b""])
def test_an_error_without_an_id_refuses_the_first_request(id: bytes) -> None:
    """JSON-RPC 2.0, section 5: the id is null if the receiver could not determine it."""
    peer = Peer()
    ours, _ = peer.request("initialize", {})
    line = b'{"jsonrpc":"2.0",%s"error":{"code":-32700,"message":"parse"}}\n' % id
    error = schema.Error(errors.PARSE_ERROR, "parse")
    assert events(line, peer) == [("Response", ours, "initialize", None, error)]
    assert dict(peer.outgoing) == {}


@pytest.mark.parametrize("members", [b'"result":{}', b'"error":null', b'"result":{},"error":null'])
def test_only_an_error_refuses_the_first_request(members: bytes) -> None:
    peer = Peer()
    ours, _ = peer.request("initialize", {})
    assert violation(b'{"id":null,%s}\n' % members, peer).kind in ("response", "message")
    assert ours in peer.outgoing


def test_an_error_without_an_id_matches_none_of_several_requests() -> None:
    peer = Peer()
    peer.request("initialize", {})
    peer.request("session/new", {})
    assert (
        violation(b'{"id":null,"error":{"code":-32700,"message":"p"}}\n', peer).kind == "response"
    )
    assert len(peer.outgoing) == 2


def test_a_response_counts_once() -> None:
    peer = Peer()
    ours, _ = peer.request("m", {})
    line = b'{"id":%d,"result":1}\n' % ours
    first, second = peer.receive(line * 2)
    assert isinstance(first, Response)
    assert isinstance(second, Violation)


@pytest.mark.parametrize(
    ("members", "result", "error"),
    [
        (b'"result":null', b"null", None),
        (b'"jsonrpc":"2.0"', b"null", None),
        (b'"result":{"a":1},"error":null', b'{"a":1}', None),
        (b'"error":{"code":1,"message":"m"}', None, schema.Error(1, "m")),
        (b'"error":{"code":1,"message":"m","data":[2]}', None, schema.Error(1, "m", [2])),
        (b'"result":null,"error":{"code":1,"message":"m"}', None, schema.Error(1, "m")),
    ],
)
def test_a_response_is_decoded(
    members: bytes, result: bytes | None, error: schema.Error | None
) -> None:
    peer = Peer()
    ours, _ = peer.request("m", {})
    assert events(b'{"id":%d,%s}\n' % (ours, members), peer) == [
        ("Response", ours, "m", result, error)
    ]


@pytest.mark.parametrize("error", [b'"broken"', b'{"code":"ENOENT","message":"gone"}', b"[]", b"7"])
def test_a_malformed_error_still_settles_the_request(error: bytes) -> None:
    peer = Peer()
    ours, _ = peer.request("m", {})
    response, bad = peer.receive(b'{"id":%d,"error":%s}\n' % (ours, error))
    assert isinstance(response, Response)
    assert response.error is not None
    assert response.error.data == json.loads(error)
    assert isinstance(bad, Violation)
    assert (bad.kind, bad.reply) == ("response", None)


def test_a_malformed_error_keeps_what_can_be_read() -> None:
    peer = Peer()
    ours, _ = peer.request("m", {})
    (response, _) = peer.receive(b'{"id":%d,"error":{"code":-32000.0,"message":"log in"}}\n' % ours)
    assert isinstance(response, Response)
    assert response.error is not None
    assert (response.error.code, response.error.message) == (errors.AUTH_REQUIRED, "log in")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{"usage":NaN}}\n', "json"),
        (b'{"id": 1, "jsonrpc": "2.0", "error": {"code": 1, "message": "a\tb"}}\n', "json"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\xff"}}\n', "utf8"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_\n', "json"),
    ],
)
def test_an_answer_that_cannot_be_read_ends_its_request(line: bytes, kind: str) -> None:
    """Otherwise the turn would never end."""
    peer = Peer()
    peer.request("session/prompt", {})
    unread, response = peer.receive(line)
    assert isinstance(unread, Violation)
    assert unread.kind == kind
    assert answer(unread) == (None, -32700)
    assert isinstance(response, Response)
    assert (response.id, response.method, response.result) == (1, "session/prompt", None)
    assert response.error is not None
    assert "cannot be read" in response.error.message
    assert not peer.outgoing


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":1,"params":{"line":NaN},"method":"fs/read_text_file"}\n',
        b'{"id":99999999999999999999,"result":{"x":NaN}}\n',
        b'{"id":"\xff","result":{"x":NaN}}\n',
        b'{"id":1.5,"result":{"x":NaN}}\n',
        b'{"id":null,"error":{"x":NaN}}\n',
        b'{"id":1\n',
        b"id: 1, result: ok\n",
    ],
)
def test_a_line_that_may_be_no_answer_ends_no_request(line: bytes) -> None:
    peer = Peer(message_bytes=1000)
    peer.request("session/prompt", {})
    assert violation(line, peer).kind in ("json", "utf8")
    assert list(peer.outgoing) == [1]
    long = violation(line[:-1] + b" " * 1000 + b"\n", peer)
    assert (long.kind, list(peer.outgoing)) == ("oversize", [1])


def test_a_request_that_cannot_be_read_is_refused_under_its_own_id() -> None:
    line = b'{"jsonrpc":"2.0","id":"w","method":"fs/write_text_file","params":{"content":"\xff"}}\n'
    assert answer(violation(line)) == ("w", -32700)
    line = b'{"jsonrpc":"2.0","id":2,"params":{"line":NaN},"method":"fs/read_text_file"}\n'
    assert answer(violation(line)) == (None, -32700), "whether it is a request is not known"
    line = b'{"id":"\xff","method":"fs/read_text_file"}' + b" " * 1000 + b"\n"
    assert answer(violation(line)) == (None, -32700)
    assert answer(violation(line, Peer(message_bytes=500))) == (None, -32600)


def test_a_byte_order_mark_is_not_part_of_a_message() -> None:
    line = b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"a"}\n'
    assert events(line + line) == [("Notification", "a", b"{}")] * 2


def test_blank_lines_and_carriage_returns() -> None:
    data = b'\n\r\n  \t\n{"method":"a"}\r\n\n {"method":"b"} \n'
    assert [e[1] for e in events(data)] == ["a", "b"]


@pytest.mark.parametrize("params", [b"", b',"params":null', b',"params":{}', b',"params":[]'])
def test_params_may_be_missing(params: bytes) -> None:
    ((kind, method, raw),) = events(b'{"method":"logout"%s}\n' % params)
    assert (kind, method) == ("Notification", "logout")
    assert json.loads(raw if isinstance(raw, bytes) else b"!") in ({}, None, [])


def test_a_value_in_two_lines_is_two_bad_lines() -> None:
    data = b'{"method":"a"}{"method":"b"}\n{"method":\n"c"}\n{"method":"d"}\n'
    assert [e[0] for e in events(data)] == ["Violation"] * 3 + ["Notification"]


def test_half_of_an_emoji_is_shown_as_a_replacement_character() -> None:
    line = rb'{"method":"m","params":{"a":"x\ud83d","b":"\ud83d\ude00","c":"\\ud83d","d":"\uDE00"}}'
    ((_, _, raw),) = events(line + b"\n")
    assert isinstance(raw, bytes)
    assert json.loads(raw) == {"a": "x\ufffd", "b": "😀", "c": r"\ud83d", "d": "\ufffd"}


@pytest.mark.parametrize(
    "method", ["fs/write_text_file", "terminal/create", "tools/call", "mcp/message"]
)
def test_a_file_or_a_command_with_a_lone_surrogate_is_refused(method: str) -> None:
    peer = Peer()
    line = b'{"id":7,"method":"%s","params":{"content":"\\ud83d"}}\n' % method.encode()
    (violation,) = peer.receive(line)
    assert isinstance(violation, Violation)
    assert violation.reply is not None
    answer = json.loads(violation.reply)
    assert (answer["id"], answer["error"]["code"]) == (7, -32602)
    assert not peer.incoming
    whole = line.replace(b"\\ud83d", b"\\ud83d\\ude00 \\\\ud83d")
    assert isinstance(peer.receive(whole)[0], Request)


def test_lone_surrogates_are_removed_from_sent_text() -> None:
    peer = Peer()
    block = schema.TextContent("\ud83d and \ud83d\ude00")
    _, line = peer.request("m", {"blocks": [block], "raw": msgspec.Raw(b'{"n":1}')})
    assert json.loads(line)["params"] == {
        "blocks": [{"type": "text", "text": "\ufffd and 😀"}],
        "raw": {"n": 1},
    }


@pytest.mark.parametrize("value", [object(), {"a": {1j}}, {object(): 1}])
def test_a_value_outside_of_json_raises_and_opens_no_request(value: object) -> None:
    peer = Peer()
    with pytest.raises(LocalProtocolError):
        peer.request("m", {"v": value, "lone": "\ud800"})
    with pytest.raises(LocalProtocolError):
        peer.notify("m", {"v": value})
    assert not peer.outgoing
    peer.receive(b'{"id":1,"method":"m"}\n')
    with pytest.raises(LocalProtocolError):
        peer.respond(1, {"v": value})
    assert peer.respond(1, {}).endswith(b'"result":{}}\n')


def test_a_sent_message_is_one_line() -> None:
    line = Peer().notify("m", {"text": "a\nb\r\u2028", "raw": msgspec.Raw(b'{\n "x": "y z"\n}')})
    assert line.count(b"\n") == 1
    assert json.loads(line)["params"] == {"text": "a\nb\r\u2028", "raw": {"x": "y z"}}
