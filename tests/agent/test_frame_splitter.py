"""Frames of a WebSocket, split before they are read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from acp_nvim.agent.transport.frame_splitter import FrameSplitter

ANSWER = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
PIECE = 100

sizes = st.sampled_from([0, 1, 99, 100, 101, 125, 126, 199, 200, 201, 1000, 70_000])
frames = st.lists(
    st.tuples(
        st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.CONT, Opcode.PING]),
        st.booleans(),
        sizes,
    ),
    max_size=6,
)


def wire(opcode: Opcode, fin: bool, size: int) -> bytes:
    """Return a frame as a server writes it."""
    payload = bytes(n % 251 for n in range(size))
    return Frame(opcode, payload, fin=fin).serialize(mask=False)


def read(data: bytes) -> list[Frame]:
    """Return the frames as a library reads them."""
    found = []
    reader = StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    while True:
        parser = Frame.parse(reader.read_exact, mask=False)
        try:
            while True:
                next(parser)
        except StopIteration as end:
            found.append(end.value)
        except EOFError:
            return found


def joined(found: list[Frame]) -> list[tuple[Opcode, bool, bytes]]:
    """Join fragments to whole frames."""
    whole: list[tuple[Opcode, bool, bytes]] = []
    for frame in found:
        if whole and frame.opcode is Opcode.CONT and not whole[-1][1]:
            opcode, _, data = whole.pop()
            whole.append((opcode, frame.fin, data + bytes(frame.data)))
        else:
            whole.append((frame.opcode, frame.fin, bytes(frame.data)))
    return whole


@given(frames, st.lists(st.integers(1, 5000), max_size=20))
def test_the_messages_are_the_same_and_no_frame_is_long(
    parts: list[tuple[Opcode, bool, int]], cuts: list[int]
) -> None:
    parts = [(opcode, fin or opcode is Opcode.PING, size) for opcode, fin, size in parts]
    parts = [(o, f, min(s, 100) if o is Opcode.PING else s) for o, f, s in parts]
    sent = b"".join(wire(*frame) for frame in parts)
    rest, splitter, came = ANSWER + sent, FrameSplitter(PIECE), b""
    for cut in cuts:
        came += splitter.feed(rest[:cut])
        rest = rest[cut:]
    came += splitter.feed(rest)
    assert came.startswith(ANSWER)
    found = read(came.removeprefix(ANSWER))
    assert joined(found) == joined(read(sent))
    assert all(len(frame.data) <= PIECE for frame in found)


def test_data_without_a_handshake_passes_unchanged() -> None:
    refusal = b"HTTP/1.1 404 Not Found\r\n\r\n" + wire(Opcode.TEXT, True, 1000)
    splitter = FrameSplitter(PIECE)
    assert b"".join(splitter.feed(refusal[at : at + 1]) for at in range(len(refusal))) == refusal


def test_a_handshake_answer_without_end_is_not_buffered() -> None:
    splitter, passed = FrameSplitter(), 0
    for _ in range(100):
        passed += len(splitter.feed(b"HTTP/1.1 101 " + b"x" * 65_536))
    assert passed > 98 * 65_536
