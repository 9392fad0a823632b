"""Transport over Streamable HTTP (rfds/streamable-http-websocket-transport).

Each client message is a POST. Agent messages arrive on event streams: one for the connection and
one for each session. A message waits, up to a limit, until the server has accepted the previous
one, so that messages arrive in order. No message is sent twice: if a failed POST may have arrived,
the connection is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import anyio
import h2  # noqa: F401 -- of `httpx[http2]`: without it the extra is not complete
import httpx

from acp_nvim import __version__, wording
from acp_nvim.agent.transport import bodies, envelopes, failures, tls
from acp_nvim.agent.transport.addresses import display_address, is_loopback
from acp_nvim.agent.transport.base import TransportError
from acp_nvim.agent.transport.envelopes import Envelope
from acp_nvim.agent.transport.event_stream import EventStream, Streams
from acp_nvim.agent.transport.remote import Address, address_of
from acp_nvim.agent.transport.sse import Event
from acp_nvim.agent.transport.stream import ByteQueue, Outbox
from acp_nvim.protocol.errors import INTERNAL_ERROR, REQUEST_CANCELLED, RESOURCE_NOT_FOUND

CONNECTION: Final = "Acp-Connection-Id"
SESSION: Final = "Acp-Session-Id"
VERSION: Final = "Acp-Protocol-Version"

CONNECT_S: Final = 10.0
ORDER_S: Final = 1.0
"""Maximum time that a message waits for the response to the previous POST, in seconds."""
MAX_PENDING: Final = 200
"""Maximum number of POSTs without a response. Beyond it, the connection counts as lost."""
CLOSE_S: Final = 0.5
"""Time for each step of closing, in seconds. Neovim gives its host two seconds in total."""
IDLE_S: Final = 2.0
"""Lifetime of an idle connection, in seconds.

Servers close connections later, so no request is sent while the server closes the connection.
"""
RETRIES: Final = (0.25, 1.0, 3.0)
"""Pauses before a message that the server did not accept is posted again, in seconds."""
PATIENCE_S: Final = 5.0
"""Longest pause that a server may request, in seconds.

A longer one counts as a refusal, because a cancel may be waiting behind the message.
"""
CANCELLED_EARLY: Final = "cancelled before the server accepted it"
BLANKS: Final = b" " * (64 << 10)


class Answer(NamedTuple):
    """Response to a POST."""

    status: int
    headers: Mapping[str, str]
    body: bodies.Body

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class PendingPrompt(NamedTuple):
    """Prompt whose POST has no response yet."""

    message: Envelope
    session: str
    posting: asyncio.Task[Any]


class HttpTransport:
    """`RemoteTransport` for `http` and `https`."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._url = address.url
        self._inbox = ByteQueue()
        self._outbox = Outbox()
        self._connection: str | None = None
        self._version = ""
        self._agent_requests: dict[object, str] = {}
        """Session of each open request from the agent, by id. The answer needs its header."""
        self._opening: dict[object, str | None] = {}
        """Pending requests that open a session, by id.

        The value is the session id in the request, or None.
        """
        self._pending_prompts: dict[object, PendingPrompt] = {}
        """Prompts, by id, for which there is no sign yet that the server has accepted them."""
        self._pending_count = 0
        """Number of POSTs without a response."""
        self._client: httpx.AsyncClient | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams = Streams(self._open_stream)

    # -- RemoteTransport --------------------------------------------------------------------------

    async def start(self) -> None:
        """Create the HTTP client, without a request. Raise TransportError."""
        url = address_of(self._address)
        is_local = is_loopback(url)
        if not is_local:
            failures.check_proxies()
        try:
            self._client = self._new_client(trust_env=not is_local)
        except (ImportError, httpx.InvalidURL, ValueError) as error:
            raise failures.unusable_proxy(error) from error
        self._start_task(self._post_all())

    def _new_client(self, *, trust_env: bool) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            http2=True,
            verify=tls.context(),
            headers={"User-Agent": f"acp.nvim/{__version__}", "Accept-Encoding": "identity"},
            cookies=self._address.cookies,
            # A silent server is reported like a silent agent, and the user decides when to give up.
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=None, keepalive_expiry=IDLE_S),
            trust_env=trust_env,
        )

    async def receive(self) -> bytes:
        """Return the next bytes of the messages. Raise TransportError at the end."""
        return await self._inbox.get()

    def send(self, data: bytes) -> None:
        self._outbox.put(data)

    async def aclose(self) -> None:
        """Close the connection on both sides, within about two seconds."""
        self._inbox.end()
        if self._inbox.error is None and self._connection is not None:
            await self._outbox.flush()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is None:
            return
        if (
            self._connection is not None
            and str(self._inbox.error) != wording.WHY_CONNECTION_UNKNOWN
        ):
            with contextlib.suppress(httpx.HTTPError), anyio.move_on_after(CLOSE_S):
                await self._client.delete(
                    self._url, headers=httpx.Headers(self._headers(), encoding="utf-8")
                )
        with anyio.move_on_after(CLOSE_S):
            await self._client.aclose()

    # -- outgoing messages ------------------------------------------------------------------------

    async def _post_all(self) -> None:
        while True:
            line = await self._outbox.get()
            if self._inbox.error is None and self._pending_count >= MAX_PENDING:
                self._lose(self._no_answer())
            elif self._inbox.error is None:
                closed = asyncio.Event()
                posting = self._start_task(self._post(line, closed))
                self._pending_count += 1
                posting.add_done_callback(partial(self._on_posted, closed))
                await closed.wait()

    def _on_posted(self, closed: asyncio.Event, _: object) -> None:
        self._pending_count -= 1
        closed.set()

    def _no_answer(self) -> TransportError:
        return TransportError(wording.WHY_NO_ANSWER.format(url=display_address(self._url)))

    async def _post(self, line: bytes, may_continue: asyncio.Event) -> None:
        """Post a message. Set `may_continue` once the next message may be posted."""
        message = envelopes.read(line)
        if message.method == "initialize":
            await self._initialize(line, may_continue)
            return
        session = message.session
        if message.is_answer:
            session = self._agent_requests.pop(_key(message.id), session)
        if message.method == "session/cancel":
            self._abort_prompts(message)
        if message.method in (*envelopes.OPENING, "session/new"):
            self._opening[_key(message.id)] = session
        posting = asyncio.current_task()
        if message.method == "session/prompt" and session is not None and posting is not None:
            self._pending_prompts[_key(message.id)] = PendingPrompt(message, session, posting)
        try:
            for stream in dict.fromkeys((None, session)):
                await self._streams.of(stream).wait_open()
            await self._deliver(line, message, session, may_continue)
        finally:
            self._pending_prompts.pop(_key(message.id), None)

    def _abort_prompts(self, cancel: Envelope) -> None:
        """End the POSTs of a cancelled session's prompts, since they may never finish.

        The cancel is still posted, because the prompts may have arrived.
        """
        for id, prompt in list(self._pending_prompts.items()):
            if prompt.session == cancel.session:
                del self._pending_prompts[id]
                prompt.posting.cancel()
                self._put(envelopes.refusal(prompt.message, REQUEST_CANCELLED, CANCELLED_EARLY))

    async def _deliver(
        self, line: bytes, message: Envelope, session: str | None, may_continue: asyncio.Event
    ) -> None:
        """Post a message until the server accepts it or finally refuses it."""
        for pause in (*RETRIES, None):
            answer = await self._request(line, session, may_continue)
            after = 0.0
            if answer is not None and answer.is_success:
                self._receive_body(answer.body, message)
                return
            if answer is not None:
                is_opening = message.method in envelopes.OPENING
                if answer.status == 404 and session and (is_opening or message.is_answer):
                    # Some servers reject the header of a session that the connection has not
                    # opened.
                    session = None
                    continue
                after = failures.retry_after(answer.headers)
                if answer.status not in (429, 503) or pause is None or after > PATIENCE_S:
                    self._on_refusal(answer, message)
                    return
            if self._inbox.error is not None or pause is None:
                break
            await anyio.sleep(max(pause, after))
        self._lose(self._no_answer())

    async def _request(
        self, line: bytes, session: str | None, may_continue: asyncio.Event
    ) -> Answer | None:
        """Post once. Return None if the server was not reached.

        If the message may have arrived, the connection is lost.
        """
        headers = {"Content-Type": "application/json", **self._headers(session)}
        late = asyncio.get_running_loop().call_later(ORDER_S, may_continue.set)
        try:
            for _ in range(3):
                answer = await self._post_once(line, headers)
                if not self._should_follow(answer):
                    return answer
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            failure = failures.unreachable(self._url, error)
            if self._connection is None or not failure.again:
                self._lose(failure)
        except httpx.HTTPError as error:
            self._address.remark(f"POST: {type(error).__name__}: {error}")
            self._lose(TransportError(wording.WHY_SENDING_BROKE))
        except TransportError as error:
            self._lose(error)
        finally:
            late.cancel()
        return None

    async def _post_once(self, line: bytes, headers: Mapping[str, str]) -> Answer:
        assert self._client is not None
        content = line.rstrip(b"\n")
        async with self._client.stream(
            "POST", self._url, content=content, headers=httpx.Headers(headers, encoding="utf-8")
        ) as response:
            # The status of a refusal is enough, but a refused `initialize` may carry an answer.
            needed = response.is_success or self._connection is None
            limit = self._address.message_bytes if needed and not response.is_redirect else 0
            body = await bodies.read(response, limit) if limit else bodies.Body(b"", is_whole=True)
            return Answer(response.status_code, response.headers, body)

    def _should_follow(self, answer: Answer) -> bool:
        """Return whether the server redirects to another path, which is used from now on."""
        location = answer.headers.get("Location")
        if answer.status not in failures.REDIRECTS or location is None:
            return False
        self._url = failures.redirect_target(self._url, location)
        return True

    async def _initialize(self, line: bytes, may_continue: asyncio.Event) -> None:
        """Post `initialize`, whose response contains the answer and the connection's id."""
        answer = await self._request(line, None, may_continue)
        if answer is None:
            self._lose(self._no_answer())
            return
        if answer.is_success and not answer.body.is_whole:
            text = wording.WHY_ANSWER_TOO_LONG.format(limit=self._address.message_bytes)
            self._lose(TransportError(text, again=False))
            return
        envelope = envelopes.read(answer.body.data)
        if not (answer.is_success or envelope.is_answer):
            self._lose(failures.status_error(self._url, answer.status, answer.headers))
            return
        self._connection = answer.headers.get(CONNECTION) or envelope.connection
        self._version = envelope.version
        if self._connection is not None:
            self._streams.of(None)
        elif answer.is_success:
            reason = wording.WHY_NO_CONNECTION_ID
            text = wording.WHY_NOT_SPOKEN.format(url=display_address(self._url), reason=reason)
            self._lose(TransportError(text, again=False))
            return
        self._put(answer.body.data)

    def _receive_body(self, body: bodies.Body, message: Envelope) -> None:
        """Receive the answer in the response to a POST, where some servers put it.

        A client request fails if its answer is too long.
        """
        if not body.is_whole:
            if message.is_request:
                text = wording.WHY_ANSWER_TOO_LONG.format(limit=self._address.message_bytes)
                self._put(envelopes.refusal(message, INTERNAL_ERROR, text))
            self._put_too_long(body.data)
        elif envelopes.read(body.data).is_answer:
            self._put(body.data)

    def _on_refusal(self, answer: Answer, message: Envelope) -> None:
        """Handle a refused message: fail the client request, or lose the connection."""
        failure = failures.status_error(self._url, answer.status, answer.headers)
        self._address.remark(f"POST {message.method or 'of an answer'}: {failure}")
        is_unknown = answer.status == 404
        if answer.status in (401, 403):
            self._lose(failure)
        elif is_unknown and not self._streams.of(None).is_open:
            self._lose(TransportError(wording.WHY_CONNECTION_UNKNOWN))
        elif message.is_answer and answer.status >= 500:
            self._lose(failure)  # otherwise the agent would wait forever
        elif message.is_request:
            code = RESOURCE_NOT_FOUND if is_unknown else INTERNAL_ERROR
            self._put(envelopes.refusal(message, code, str(failure)))

    def _headers(self, session: str | None = None) -> dict[str, str]:
        own = {CONNECTION: self._connection, SESSION: session, VERSION: self._version}
        return {**self._address.headers, **{name: value for name, value in own.items() if value}}

    # -- incoming messages ------------------------------------------------------------------------

    def _open_stream(self, session: str | None) -> EventStream:
        assert self._client is not None
        stream = EventStream(
            self._client,
            lambda: self._url,
            self._headers(session),
            self._address,
            lambda event: self._on_event(event, session),
            # The connection is lost with its own stream. Streams of sessions are reopened.
            self._lose if session is None else self._on_session_stream_end,
        )
        self._start_task(stream.run())
        return stream

    def _on_session_stream_end(self, error: TransportError) -> None:
        self._address.remark(f"event stream of a session: {error}")
        if not error.again:
            self._lose(error)

    async def _on_event(self, event: Event, session: str | None) -> None:
        """Receive a message from a stream, then wait until there is room for more."""
        message = envelopes.read(event.data) if event.is_whole else Envelope()
        if self._pending_prompts:
            self._mark_accepted(message.session or session)
        if message.is_request and (about := message.session or session):
            self._agent_requests[_key(message.id)] = about
        if message.is_answer and _key(message.id) in self._opening:
            asked = self._opening.pop(_key(message.id))
            for session_id in {message.opened_session, asked} - {None}:
                self._streams.of(session_id)
            if asked is not None:  # its history arrives on its own stream
                await self._streams.of(asked).wait_quiet()
        (self._put if event.is_whole else self._put_too_long)(event.data)
        await self._inbox.wait_for_room()

    def _mark_accepted(self, session: str | None) -> None:
        """Mark the session's prompts as accepted, since the agent has begun to work."""
        for id, prompt in list(self._pending_prompts.items()):
            if prompt.session == session:
                del self._pending_prompts[id]

    def _put(self, data: bytes) -> None:
        # In JSON, line endings can only be white space.
        line = data.replace(b"\r", b" ").replace(b"\n", b" ").strip()
        if line:
            self._inbox.put(line)
            self._inbox.put(b"\n")

    def _put_too_long(self, head: bytes) -> None:
        """Receive a line longer than the limit, of which only the beginning (`head`) is known.

        Spaces replace the rest, so that the reader can refuse, log and show the line.
        """
        self._inbox.put(head.replace(b"\r", b" ").replace(b"\n", b" "))
        for _ in range(self._address.message_bytes // len(BLANKS) + 1):
            self._inbox.put(BLANKS)
        self._inbox.put(b"\n")

    # -- the end ----------------------------------------------------------------------------------

    def _lose(self, error: TransportError) -> None:
        if self._inbox.error is None:
            self._inbox.end(error)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._run_guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run_guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine. An internal error ends the connection and is logged."""
        try:
            await work
        except Exception as error:
            self._address.remark(f"{type(error).__name__}: {error}")
            self._lose(TransportError(wording.WHY_TRANSPORT_FAULT))


def _key(id: object) -> object:
    """Return a JSON-RPC id as a dictionary key: 1, "1" and True differ."""
    return (type(id), id) if isinstance(id, int | str | float) else repr(id)
