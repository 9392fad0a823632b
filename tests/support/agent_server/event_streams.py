"""An agent's messages to a client of Streamable HTTP, sorted into streams: one for the connection
and one for each session. Unread messages wait; the last ones read can be read again by number.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

AGAIN: Final = 1000
"""Number of events of a stream that can be read again."""


class Outbox:
    """One stream."""

    def __init__(self) -> None:
        """Set up without messages."""
        self.taken = False
        """Whether the stream has a reader."""
        self.ended = False
        self._numbers = count(1)
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._said: deque[tuple[int, bytes]] = deque(maxlen=AGAIN)
        self._news = asyncio.Event()

    def put(self, line: bytes) -> None:
        """Add a message."""
        self._waiting.append((next(self._numbers), line))
        self._news.set()

    def take(self) -> Iterator[bytes]:
        """Return the waiting events."""
        self._news.clear()
        while self._waiting:
            number, line = self._waiting.popleft()
            self._said.append((number, line))
            yield b"id: %d\ndata: %s\n\n" % (number, line)

    async def news(self) -> None:
        """Wait for a message or the end."""
        await self._news.wait()

    @contextmanager
    def reading(self, last: int | None) -> Iterator[None]:
        """Begin reading, after the event ``last`` if the reader knows one."""
        if last is not None:
            again = [(number, line) for number, line in self._said if number > last]
            self._said = deque((it for it in self._said if it[0] <= last), AGAIN)
            self._waiting.extendleft(reversed(again))
            self._news.set()
        if self._waiting:
            self._news.set()
        self.taken = True
        try:
            yield
        finally:
            self.taken = False

    def end(self) -> None:
        """End the stream."""
        self.ended = True
        self._news.set()


class EventStreams:
    """Streams of one client, and the routing of messages to them."""

    def __init__(self) -> None:
        """Set up with the stream of the connection only."""
        self._outboxes: dict[str | None, Outbox] = {None: Outbox()}
        self._routes: dict[str, str] = {}
        """Requests of the client about a session: id -> session."""
        self._awaited: dict[str, asyncio.Future[bytes]] = {}

    def get(self, session: str | None) -> Outbox:
        """Return a stream. A client that returns opens the stream of its session before it loads
        it.
        """
        return self._outbox(session)

    def answer_to(self, message: dict[str, Any]) -> asyncio.Future[bytes]:
        """Return the answer to a request, which is put on no stream."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._awaited[_key(message)] = answer
        return answer

    def expect(self, message: dict[str, Any], session: str | None) -> None:
        """Note a message of the client; its answer goes to the stream of the session."""
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
