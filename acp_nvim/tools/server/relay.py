"""Joins an agent to the editor's tools: stdin and stdout to a Unix socket, as they are.

Agents start it as an MCP server, by `python -I -S relay.py`; it knows nothing but the standard
library, since no environment is there for it. Address and token stand in its environment alone. It
ends as soon as either side has.
"""

import os
import select
import sys
import time

# `socket` would bring enum, selectors and more: more than half of the time to start.
from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket

PIECE = 65536
REST_S = 2.0
"""How long answers may still come after the agent has closed its end, in seconds."""


class Way:
    """Bytes from one end to the other: what has been read and not written yet."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.held = b""
        self.ended = False

    def read(self) -> None:
        """Take what is there; nothing at the end."""
        self.held = os.read(self.source, PIECE)
        self.ended = not self.held

    def write(self) -> None:
        """Give away as much as is taken."""
        self.held = self.held[os.write(self.sink, self.held) :]


def pump(server: socket) -> None:
    """Carry bytes both ways until the server ends or the agent no longer listens."""
    number = server.fileno()
    asks, answers = Way(0, number), Way(number, 1)
    server.setblocking(False)
    os.set_blocking(1, False)
    closed = False
    deadline = None
    while not answers.ended:
        if asks.ended and not closed:
            closed, deadline = True, time.monotonic() + REST_S
            server.shutdown(SHUT_WR)
        ready = wait(asks, answers, deadline)
        if ready is None:
            return
        step(answers, ready)
        step(asks, ready)


def wait(asks: Way, answers: Way, deadline: "float | None") -> "dict[int, int] | None":
    """The ends that can be read or written now; None when time is up or nobody listens."""
    poll = select.poll()
    wanted = {asks.source: 0, asks.sink: 0, answers.sink: 0}
    for way in (asks, answers):
        if way.held:
            wanted[way.sink] |= select.POLLOUT
        elif not way.ended:
            wanted[way.source] |= select.POLLIN
    for number, events in wanted.items():
        if events or number == answers.sink:  # whose end is told unasked
            poll.register(number, events)
    left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
    ready = dict(poll.poll(left))
    gone = ready.get(answers.sink, 0) & (select.POLLERR | select.POLLHUP)
    return ready if ready and not gone else None


def step(way: Way, ready: "dict[int, int]") -> None:
    """Move one piece, if there is one to move."""
    if way.held and ready.get(way.sink, 0) & ~select.POLLIN:
        way.write()
    elif not way.held and not way.ended and ready.get(way.source, 0) & ~select.POLLOUT:
        way.read()


def main() -> int:
    """Connect, say the token, carry bytes. Returns the exit code."""
    try:
        server = socket(AF_UNIX, SOCK_STREAM)
        server.connect(os.environ["ACP_NVIM_SOCKET"])
        server.sendall(os.environ["ACP_NVIM_TOKEN"].encode() + b"\n")
    except (OSError, KeyError) as error:
        sys.stderr.write(f"acp.nvim: no way to Neovim's tools: {error}\n")
        return 1
    try:
        pump(server)
    except (OSError, KeyboardInterrupt):
        return 0  # one side is gone: the other is to be left as well
    return 0


if __name__ == "__main__":
    os._exit(main())
