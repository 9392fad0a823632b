"""Relay between an agent and the editor's tools. It connects stdin and stdout to a Unix socket.

Agents start it as an MCP server with `python -I -S relay.py`. It uses only the standard library,
because `-I -S` hides all other packages. It reads the address and the token from its environment,
and ends when either side does.
"""

import os
import select
import sys
import time

# `socket` would import enum, selectors and more, which takes over half of the start-up time.
from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket

CHUNK_BYTES = 65536
DRAIN_S = 2.0
"""Seconds to wait for remaining responses after the agent has closed its end."""


class Direction:
    """One direction of the relay, with the bytes that are read and not yet written."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.pending = b""
        self.ended = False

    def read(self) -> None:
        """Read the available bytes, or record the end of the stream."""
        self.pending = os.read(self.source, CHUNK_BYTES)
        self.ended = not self.pending

    def write(self) -> None:
        """Write as many bytes as the sink accepts."""
        self.pending = self.pending[os.write(self.sink, self.pending) :]


def pump(server: socket) -> None:
    """Copy bytes in both directions until the server closes or the agent no longer reads."""
    number = server.fileno()
    requests, responses = Direction(0, number), Direction(number, 1)
    server.setblocking(False)
    os.set_blocking(1, False)
    closed = False
    deadline = None
    while not responses.ended:
        if requests.ended and not closed:
            closed, deadline = True, time.monotonic() + DRAIN_S
            server.shutdown(SHUT_WR)
        ready = wait_until_ready(requests, responses, deadline)
        if ready is None:
            return
        transfer(responses, ready)
        transfer(requests, ready)


def wait_until_ready(
    requests: Direction, responses: Direction, deadline: "float | None"
) -> "dict[int, int] | None":
    """Wait for descriptors that can be read or written.

    Return None after the deadline, or if the agent no longer reads.
    """
    poll = select.poll()
    wanted = {requests.source: 0, requests.sink: 0, responses.sink: 0}
    for direction in (requests, responses):
        if direction.pending:
            wanted[direction.sink] |= select.POLLOUT
        elif not direction.ended:
            wanted[direction.source] |= select.POLLIN
    for number, events in wanted.items():
        if events or number == responses.sink:  # poll always reports a hangup
            poll.register(number, events)
    timeout_ms = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
    ready = dict(poll.poll(timeout_ms))
    is_closed = ready.get(responses.sink, 0) & (select.POLLERR | select.POLLHUP)
    return ready if ready and not is_closed else None


def transfer(direction: Direction, ready: "dict[int, int]") -> None:
    """Read or write one chunk, if possible."""
    if direction.pending and ready.get(direction.sink, 0) & ~select.POLLIN:
        direction.write()
    elif (
        not direction.pending
        and not direction.ended
        and ready.get(direction.source, 0) & ~select.POLLOUT
    ):
        direction.read()


def main() -> int:
    """Connect, send the token, copy bytes. Return the exit code."""
    try:
        server = socket(AF_UNIX, SOCK_STREAM)
        server.connect(os.environ["ACP_NVIM_SOCKET"])
        server.sendall(os.environ["ACP_NVIM_TOKEN"].encode() + b"\n")
    except (OSError, KeyError) as error:
        sys.stderr.write(f"acp.nvim: cannot reach Neovim's tools: {error}\n")
        return 1
    try:
        pump(server)
    except (OSError, KeyboardInterrupt):
        return 0  # one side has ended, so the other is closed too
    return 0


if __name__ == "__main__":
    os._exit(main())
