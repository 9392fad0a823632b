"""An agent's messages to a client of Streamable HTTP, in one stream for the connection and one for
each session.

Unread messages are queued. The last messages that were read can be read again by number.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

MAX_REPLAYED: Final = 1000
"""Number of events of a stream that can be read again."""


class Outbox:
    """Queue of the messages of one stream."""

    def __init__(self) -> None:
        """Set up without messages."""
        self.has_reader = False
        """Whether the stream has a reader."""
        self.ended = False
        self._numbers = count(1)
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._sent: deque[tuple[int, bytes]] = deque(maxlen=MAX_REPLAYED)
        self._changed = asyncio.Event()

    def put(self, line: bytes) -> None:
        """Add a message."""
        self._waiting.append((next(self._numbers), line))
        self._changed.set()

    def pop_events(self) -> Iterator[bytes]:
        """Remove the queued messages and yield them as events."""
        self._changed.clear()
        while self._waiting:
            number, line = self._waiting.popleft()
            self._sent.append((number, line))
            yield b"id: %d\ndata: %s\n\n" % (number, line)

    async def wait_for_message(self) -> None:
        """Wait for a message or the end."""
        await self._changed.wait()

    @contextmanager
    def open_reader(self, last: int | None) -> Iterator[None]:
        """Read the stream within the block, after the event ``last`` if the reader knows one."""
        if last is not None:
            replayed = [(number, line) for number, line in self._sent if number > last]
            self._sent = deque((it for it in self._sent if it[0] <= last), MAX_REPLAYED)
            self._waiting.extendleft(reversed(replayed))
            self._changed.set()
        if self._waiting:
            self._changed.set()
        self.has_reader = True
        try:
            yield
        finally:
            self.has_reader = False

    def end(self) -> None:
        """End the stream."""
        self.ended = True
        self._changed.set()


class EventStreams:
    """Streams of one client, and the routing of messages to them."""

    def __init__(self) -> None:
        """Set up with the stream of the connection only."""
        self._outboxes: dict[str | None, Outbox] = {None: Outbox()}
        self._routes: dict[str, str] = {}
        """Requests of the client about a session: id -> session."""
        self._awaited: dict[str, asyncio.Future[bytes]] = {}

    def get(self, session: str | None) -> Outbox:
        """Return the stream of a session, which need not be loaded yet."""
        return self._outbox(session)

    def answer_to(self, message: dict[str, Any]) -> asyncio.Future[bytes]:
        """Return a future of the answer to a request. The answer is sent on no stream."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._awaited[_key(message)] = answer
        return answer

    def expect(self, message: dict[str, Any], session: str | None) -> None:
        """Record a message of the client, whose answer goes to the stream of the session."""
        if "method" in message and "id" in message and session is not None:
            opens = message["method"] in ("session/load", "session/resume")
            if not opens:
                self._routes[_key(message)] = session

    def write(self, line: bytes) -> None:
        """Send one message."""
        line = line.rstrip(b"\n")
        message = json.loads(line)
        if "method" not in message:
            self._answer(message, line)
            return
        params = message.get("params")
        session = params.get("sessionId") if isinstance(params, dict) else None
        self._outbox(session).put(line)

    def _answer(self, message: dict[str, Any], line: bytes) -> None:
        key = _key(message)
        awaited = self._awaited.pop(key, None)
        if awaited is None:
            self._outbox(self._routes.pop(key, None)).put(line)
        elif not awaited.done():
            awaited.set_result(line)

    def _outbox(self, session: str | None) -> Outbox:
        return self._outboxes.setdefault(session, Outbox())

    def end(self) -> None:
        """End all streams."""
        for outbox in self._outboxes.values():
            outbox.end()


def _key(message: dict[str, Any]) -> str:
    return json.dumps(message.get("id"))
