"""The traffic log: its contents, its lines, and its redaction."""

from __future__ import annotations

import json
import re
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_nvim.agent.wire.redact import REDACTED, Redactor
from acp_nvim.agent.wire.traffic import ENTRY_BYTES, LINE_BYTES, Traffic
from acp_nvim.render.text import format_size as readable


class Clock:
    """A test clock. `lines` shows local time, so tests check only differences."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def shown(traffic: Traffic, **options: Any) -> list[str]:
    """Return the lines of the log without times and sizes."""
    bytes_of = re.compile(r"(?<=[<-][->] )(.{0,80}?) [\d.]+ (B|KiB|MiB)(?= |$)")
    return [
        bytes_of.sub(r"\1", line.split(" ", 1)[1], count=1) for line in traffic.lines(**options)
    ]


def test_each_message_has_its_size_also_if_it_was_cut() -> None:
    traffic = Traffic(clock=Clock())
    traffic.add("out", message(id=1, method="session/prompt", params={"a": 1}))
    traffic.add("in", message(id=1, result={"x": "y" * 3000}))
    long = message(id=9, method="fs/write_text_file", params={"content": "z" * (3 * LINE_BYTES)})
    traffic.add("in", long)
    asked, answered, written = (line.split(" ", 1)[1] for line in traffic.lines())
    assert asked == '-> session/prompt #1 75 B {"a": 1}'
    assert answered.startswith('<- session/prompt #1 0 ms 3 KiB {"x": "yyy')
    assert written.startswith(f"<- fs/write_text_file #9 {readable(len(long) - 1)} ")


def test_an_answer_is_paired_with_its_request_in_either_direction() -> None:
    clock = Clock()
    traffic = Traffic(clock=clock)
    traffic.add("out", message(id=3, method="session/prompt", params={"a": 1}))
    clock.now += 0.25
    traffic.add("in", message(id=3, method="fs/read_text_file", params={"path": "/x"}))
    clock.now += 0.5
    traffic.add("out", message(id=3, error={"code": -32002, "message": "missing"}))
    traffic.add("in", message(id=3, result={"stopReason": "end_turn"}))
    assert shown(traffic) == [
        '-> session/prompt #3 {"a": 1}',
        '<- fs/read_text_file #3 {"path": "/x"}',
        '-> fs/read_text_file #3 500 ms error {"code": -32002, "message": "missing"}',
        '<- session/prompt #3 750 ms {"stopReason": "end_turn"}',
    ]


def test_notifications_garbage_and_stderr_are_distinguished() -> None:
    traffic = Traffic(clock=Clock())
    traffic.add("in", message(method="session/update", params={}))
    traffic.add("in", b"Traceback (most recent call last):\r\n\n[1, 2]\n")
    traffic.add("in", message(id="u-1", result=None))
    traffic.add("err", b"warning\nunfini")
    assert shown(traffic) == [
        "<- session/update {}",
        "<! Traceback (most recent call last):",
        "<! [1, 2]",
        "<- (answer) #u-1 null",
        "2> warning",
        "2> unfini",
    ]


def test_control_characters_are_made_visible() -> None:
    traffic = Traffic(clock=Clock(), level="debug")
    traffic.add("in", "\x1b[2Joops \u202e\n".encode())
    traffic.add("in", b"\xff\n")
    assert shown(traffic) == ["<! ^[[2Joops <U+202E>", "<! \ufffd"]


def test_levels() -> None:
    traffic = Traffic(clock=Clock())
    traffic.add("out", message(id=1, method="session/new", params={"x": "y" * 500}))
    traffic.add("in", message(id=1, error={"code": 1, "message": "no"}))
    traffic.add("err", b"oh\n")
    assert len(shown(traffic)[0]) == len("-> session/new #1 ") + 200
    traffic.level = "debug"
    assert "y" * 500 in shown(traffic)[0]
    traffic.level = "error"
    assert shown(traffic) == [
        '<- session/new #1 0 ms error {"code": 1, "message": "no"}',
        "2> oh",
    ]
    traffic.level = "off"
    traffic.add("err", b"not kept\n")
    traffic.level = "info"
    assert "not kept" not in "".join(shown(traffic))


@given(st.lists(st.binary(max_size=40).filter(lambda b: b"\n" not in b)), st.data())
def test_any_split_of_the_stream_gives_the_same_lines(lines: list[bytes], data: Any) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    whole, split = Traffic(clock=Clock()), Traffic(clock=Clock())
    whole.add("in", stream)
    while stream:
        n = data.draw(st.integers(1, len(stream)))
        split.add("in", stream[:n])
        stream = stream[n:]
    assert shown(split) == shown(whole)


@pytest.mark.parametrize("piece", [1000, 70_000, 300_000])
def test_a_long_line_is_cut_and_marked_but_keeps_its_method(piece: int) -> None:
    traffic = Traffic(level="debug", clock=Clock())
    line = message(id=9, method="fs/write_text_file", params={"content": "z" * 250_000})
    stream = line + message(method="after", params={})
    for start in range(0, len(stream), piece):
        traffic.add("in", stream[start : start + piece])
    first, second = shown(traffic)
    assert first.startswith('<- fs/write_text_file #9 {"jsonrpc"')
    assert first.endswith(f"zzz …[{len(line) - 1} bytes]")
    assert LINE_BYTES < len(first) < LINE_BYTES + 100
    assert second == "<- after {}"
    assert traffic.size < LINE_BYTES + 2000 + ENTRY_BYTES * 255


def test_the_ring_is_bounded_and_forgets_the_oldest_first() -> None:
    traffic = Traffic(limit_bytes=80_000, clock=Clock())
    for n in range(5000):
        traffic.add("in", message(method="m", params={"n": n}))
        assert traffic.size <= 80_000
    lines = shown(traffic)
    assert lines[-1] == '<- m {"n": 4999}'
    assert 200 < len(lines) < 1000
    assert lines == [f'<- m {{"n": {n}}}' for n in range(5000 - len(lines), 5000)]


def test_the_log_stores_the_end_of_a_long_read() -> None:
    traffic = Traffic(limit_bytes=2000, clock=Clock())
    traffic.add("in", message(method="first", params={}))
    traffic.add("in", b"".join(message(method="m", params={"n": n}) for n in range(300)))
    lines = shown(traffic)
    assert lines[-1] == '<- m {"n": 299}'
    assert all(line.startswith("<- m ") for line in lines)
    assert traffic.size <= 2000
    traffic.add("in", message(method="last", params={}))
    assert shown(traffic)[-1] == "<- last {}"


def test_a_line_that_lost_its_beginning_is_not_shown_as_garbage() -> None:
    traffic = Traffic(limit_bytes=2000, clock=Clock())
    stream = b"".join(message(method="m", params={"n": n}) for n in range(300))
    for start in range(0, len(stream), 70):
        traffic.add("in", stream[start : start + 70])
    lines = shown(traffic)
    assert lines
    assert all(line.startswith("<- m ") for line in lines)


PIECES = st.tuples(st.sampled_from(["in", "out", "err"]), st.integers(1, 27_000))


@settings(max_examples=15)
@given(st.lists(PIECES, min_size=30, max_size=60))
def test_a_log_that_was_compressed_shows_the_same(pieces: list[tuple[Any, int]]) -> None:
    """This holds for any number of lines lost at the start."""
    plain, packed = (Traffic(limit_bytes=700_000, clock=Clock()) for _ in range(2))
    streams = [b"".join(message(method=d, params={"n": n}) for n in range(900)) for d in "abc"]
    for number, (direction, size) in enumerate(pieces):
        for traffic in (plain, packed):
            traffic.add(direction, streams[number % 3][:size])
        while packed.pack():
            pass
        assert packed.size <= 700_000
    whole, left = shown(plain), shown(packed)
    assert left == whole[len(whole) - len(left) :]
    assert len(left) >= len(whole) * 0.7


def test_a_compressed_log_takes_little_memory() -> None:
    traffic = Traffic(clock=Clock())
    tracemalloc.start()
    try:
        for n in range(9000):
            traffic.add("in", message(method="session/update", params={"n": n, "text": "words"}))
        before = tracemalloc.get_traced_memory()[0]
        while traffic.pack():
            pass
        assert tracemalloc.get_traced_memory()[0] < before / 4
    finally:
        tracemalloc.stop()


def test_lines_cut_by_a_lost_block_are_not_shown() -> None:
    traffic = Traffic(limit_bytes=700_000, clock=Clock())
    stream = b"".join(message(method="m", params={"n": n}) for n in range(30_000))
    for start in range(0, len(stream), 1111):
        traffic.add("in", stream[start : start + 1111])
        traffic.pack()
    lines = shown(traffic)
    assert len(lines) > 8000
    assert lines == [f'<- m {{"n": {n}}}' for n in range(30_000 - len(lines), 30_000)]


def test_a_flood_on_stderr_does_not_remove_messages() -> None:
    traffic = Traffic(limit_bytes=100_000, clock=Clock())
    traffic.add("out", message(id=1, method="initialize", params={}))
    for _ in range(100):
        traffic.add("err", b"noise\n" * 1000)
    assert shown(traffic)[0] == "-> initialize #1 {}"
    assert traffic.size <= 100_000


SECRET = "hunter2-hunter2"
SESSION = "sess-0123456789abcdef"


@pytest.mark.parametrize(
    "params",
    [
        {"mcpServers": [{"name": "x", "env": [{"name": "KEY", "value": SECRET}]}]},
        {"mcpServers": [{"headers": [{"name": "Authorization", "value": f"Bearer {SECRET}"}]}]},
        {"env": {"KEY": SECRET, "NESTED": [SECRET]}},
        {"apiKey": SECRET},
        {"api_key": SECRET},
        {"X-Api-Key": SECRET},
        {"access-token": SECRET},
        {"_meta": {"deep": [{"clientSecret": {"value": SECRET}}]}},
        {"password": SECRET, "Authorization": SECRET},
        {"args": ["--token", SECRET, "--port", "80"]},
        {"args": [f"--api-key={SECRET}"]},
        {"url": f"https://user:{SECRET}@host/x?token={SECRET}&a=b"},
        {"content": f'curl -H "Authorization: Bearer {SECRET}" x'},
    ],
    ids=str,
)
def test_secrets_do_not_reach_a_redacted_line(params: dict[str, Any]) -> None:
    traffic = Traffic(clock=Clock())
    traffic.add("out", message(id=1, method="session/new", params=params))
    (line,) = traffic.redacted()
    assert SECRET not in line
    assert REDACTED in line
    assert SECRET in json.dumps(params)
    assert SECRET in Traffic.lines(traffic)[0], "what is shown in the editor is not redacted"


def test_configured_values_are_found_anywhere() -> None:
    traffic = Traffic(secrets=[SECRET, SECRET[:8], "ab", ""], clock=Clock())
    traffic.add("in", message(method=SECRET, params={"text": f"it is {SECRET}, ab"}))
    traffic.add("in", f"garbage {SECRET}\n".encode())
    traffic.add("err", f"stderr {SECRET}\n".encode())
    assert [line.split(" ", 1)[1] for line in traffic.redacted()] == [
        f'<- {REDACTED} 96 B {{"text":"it is {REDACTED}, ab"}}',
        f"<! garbage {REDACTED}",
        f"2> stderr {REDACTED}",
    ]


def test_session_ids_are_shortened_also_in_earlier_lines() -> None:
    traffic = Traffic(clock=Clock())
    traffic.add("err", f"session {SESSION}\n".encode())
    traffic.add("in", message(id=1, result={"sessionId": SESSION}))
    text = "\n".join(traffic.redacted())
    assert SESSION not in text
    assert text.count("…" + SESSION[-8:]) == 2


def test_a_cut_message_is_redacted_to_its_head() -> None:
    traffic = Traffic(clock=Clock())
    params = {"env": [{"name": "K", "value": SECRET}], "pad": "x" * LINE_BYTES}
    traffic.add("out", message(id=1, method="session/new", params=params))
    (line,) = traffic.redacted()
    why = "(cut; hidden because it may contain secrets)"
    assert line.split(" ", 1)[1] == f"-> session/new #1 64 KiB {why}"


def test_the_log_keeps_harmless_values() -> None:
    value = {
        "inputTokens": 12,
        "maxTokens": 5,
        "name": "environment",
        "text": "the token is parsed; secret santa",
        "null": None,
        "sessionId": "short",
    }
    assert Redactor().value(value) == value
