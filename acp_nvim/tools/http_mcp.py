"""The editor's tools over Streamable HTTP (MCP, basic/transports), for clients that were let in.

Both eras come to the same address. With a handshake (until 2025-11-25) a client has a session of
MCP: `GET` opens the stream that tells of changes, `DELETE` ends it. Since 2026-07-28 each `POST`
stands for itself, and its headers repeat what is in it. No stream can be taken up again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import anyio
import msgspec

from acp_nvim.protocol import errors
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.jsonrpc import Id, Notification, Peer, Request, Violation
from acp_nvim.tools import mcp_methods
from acp_nvim.tools import mcp_types as mcp
from acp_nvim.tools.http_answer import JSON, STREAM, Answer
from acp_nvim.tools.http_headers import VERSION, check_headers, is_modern
from acp_nvim.tools.http_wire import BadRequest, Head, HttpConnection
from acp_nvim.tools.mcp_methods import Tools
from acp_nvim.tools.mcp_server import LINE_BYTES

PATH: Final = "/mcp"
SESSION: Final = "mcp-session-id"
SESSIONS: Final = 8
"""Sessions of MCP with one token; the oldest makes room for one more."""


class McpSession(msgspec.Struct):
    """A client that has shaken hands: its calls, and the stream on which it hears of changes."""

    calls: dict[Id, anyio.CancelScope] = msgspec.field(default_factory=dict)
    stream: anyio.CancelScope | None = None

    @contextmanager
    def calling(self, id: Id) -> Iterator[anyio.CancelScope]:
        """A call can be taken back by its id for as long as this is."""
        scope = self.calls[id] = anyio.CancelScope()
        try:
            yield scope
        finally:
            if self.calls.get(id) is scope:
                del self.calls[id]

    @contextmanager
    def listens(self) -> Iterator[anyio.CancelScope]:
        """Its stream is open for as long as this is, or until the session ends."""
        with anyio.CancelScope() as scope:
            self.stream = scope
            try:
                yield scope
            finally:
                self.stream = None

    def end(self) -> None:
        """End what it waits for."""
        for scope in [*self.calls.values(), self.stream]:
            if scope is not None:
                scope.cancel()


class StreamableHttp:
    """The server of one session of the agent."""

    def __init__(self, tools: Tools, told: Callable[[int], None]) -> None:
        """``told`` hears how many clients there are."""
        self._tools = tools
        self._told = told
        self._sessions: dict[str, McpSession] = {}
        self._modern = False

    async def serve(self, head: Head, connection: HttpConnection) -> None:
        """Answer one request. BadRequest, ConnectionError."""
        if head.path != PATH:
            raise BadRequest(404, f"there is nothing but {PATH}")
        body = await connection.body(LINE_BYTES - 1)
        match head.method:
            case "POST":
                await self._post(head, body, connection)
            case "GET":
                await self._get(head, connection)
            case "DELETE":
                await self._delete(head, connection)
            case _:
                raise BadRequest(405, f"{PATH} takes POST, GET and DELETE")

    # -- clients with a handshake -----------------------------------------------------------------

    def _session(self, head: Head) -> McpSession:
        """The session that a request belongs to. BadRequest: it names none, or one that is over."""
        id = head.one(SESSION)
        if id is None:
            raise BadRequest(400, f"the header {SESSION} is missing")
        if id not in self._sessions:
            raise BadRequest(404, "that session is over")
        return self._sessions[id]

    def _begun(self) -> str:
        """The id of a new session."""
        if len(self._sessions) >= SESSIONS:
            self._sessions.pop(next(iter(self._sessions))).end()
        id = secrets.token_urlsafe(16)
        self._sessions[id] = McpSession()
        return id

    def _count(self) -> None:
        self._told(len(self._sessions) + self._modern)

    async def _delete(self, head: Head, connection: HttpConnection) -> None:
        """End a session."""
        session = self._session(head)
        self._sessions = {id: it for id, it in self._sessions.items() if it is not session}
        session.end()
        self._count()
        await connection.respond(200)

    async def _get(self, head: Head, connection: HttpConnection) -> None:
        """Tell of changes, as long as the client listens."""
        if not head.accepts(STREAM):
            raise BadRequest(406, f"the answer is {STREAM}")
        session = self._session(head)
        if session.stream is not None:
            raise BadRequest(409, "the session has its stream")
        answer = Answer(connection, Peer(), streams=True)
        changes = self._tools.changes
        tells = partial(mcp_methods.tell_changes, changes, changes.count, answer.tell)
        with session.listens() as scope:
            await answer.stream(tells)
        if scope.cancelled_caught:
            raise ConnectionResetError("its session is over")

    # -- messages ---------------------------------------------------------------------------------

    async def _post(self, head: Head, body: bytes, connection: HttpConnection) -> None:
        if (head.one("content-type") or "").partition(";")[0].strip().lower() != JSON:
            raise BadRequest(415, f"messages are {JSON}")
        if not head.accepts(JSON):
            raise BadRequest(406, f"the answer is {JSON} or {STREAM}")
        # Outside of texts JSON has line ends as it likes; inside of them they are escaped.
        line = body.replace(b"\n", b" ") + b"\n"
        peer = Peer(LINE_BYTES)
        answer = Answer(connection, peer, streams=head.accepts(STREAM))
        event = next(iter(peer.receive(line)), None)
        if isinstance(event, Request):
            await self._asked(head, event, answer)
        elif isinstance(event, Notification):
            self._noted(head, event)
            await connection.respond(202)
        else:
            reply = event.reply if isinstance(event, Violation) else None
            await answer.give(400, reply or _UNREAD)

    def _noted(self, head: Head, note: Notification) -> None:
        """Take a notification; only a cancel concerns us. The later era cancels by leaving."""
        if is_modern(head):
            if head.one(VERSION) not in mcp.MODERN_VERSIONS:
                raise BadRequest(400, f"{VERSION}: {', '.join(mcp.MODERN_VERSIONS)}")
            return
        session = self._session(head)
        if note.method == "notifications/cancelled":
            try:
                id = mcp_methods.read(mcp.CancelledParams, note.params).request_id
            except RequestError as error:
                raise BadRequest(400, error.message) from error
            if scope := session.calls.get(id):
                scope.cancel()

    async def _asked(self, head: Head, request: Request, answer: Answer) -> None:
        modern = is_modern(head)
        session = None
        try:
            if modern:
                check_headers(head, request)
            elif request.method != "initialize":
                session = self._session(head)
            found: Any = mcp_methods.answer(
                self._tools, request.id, request.method, request.params, answer.tell
            )
        except RequestError as error:
            await answer.refuse(request.id, error, modern=modern)
            return
        self._modern |= modern
        if request.method == "initialize":
            answer.headers[SESSION] = self._begun()
        self._count()
        if isinstance(found, mcp_methods.Work):
            with (session or McpSession()).calling(request.id) as scope:
                await answer.work(request.id, found, scope, modern=modern)
        else:
            await answer.give(200, answer.peer.respond(request.id, found))


_UNREAD: Final = msgspec.json.encode(
    {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": errors.PARSE_ERROR, "message": "a body is one message"},
    }
)
