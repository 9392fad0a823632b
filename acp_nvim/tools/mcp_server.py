"""One client of the editor's tools, over the Model Context Protocol: bytes in, bytes out.

Nothing here knows where the bytes come from. Calls run as tasks; all else is answered at once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, Final, Protocol, TypeVar

import anyio
import msgspec
from msgspec import UNSET

from acp_nvim import __version__
from acp_nvim.protocol import errors
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.jsonrpc import Id, Notification, Peer, Request, Violation
from acp_nvim.tools import mcp_types as mcp
from acp_nvim.tools.arguments import input_schema
from acp_nvim.tools.tool import Tool
from acp_nvim.tools.toolbox import Outcome, UnknownTool, printable

T = TypeVar("T")
Json = dict[str, Any]

SERVER: Final = mcp.Implementation("neovim", __version__, "Neovim")
INSTRUCTIONS: Final = (
    "The user's Neovim. These tools see what files do not: unsaved text of open buffers, and what "
    "its language servers know. Lines and columns are 1-based; paths may be relative to the "
    "session's directory."
)
LINE_BYTES: Final = 10 << 20
VIOLATIONS: Final = 100
"""After so many faults a client is not served any longer."""

_tools: Final = mcp.ServerCapabilities({})


class Tools(Protocol):
    """The tools of one session."""

    def listed(self) -> list[Tool[Any]]:
        """Those on offer."""
        ...

    async def call(
        self, name: str, arguments: msgspec.Raw | None, progress: Callable[[str], None]
    ) -> Outcome:
        """Run one. Raises `UnknownTool`."""
        ...


class McpServer:
    """The server's end of a connection.

    ``send`` takes lines and never waits, ``start`` runs a task that ends with the connection.
    """

    def __init__(
        self,
        tools: Tools,
        send: Callable[[bytes], None],
        start: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
        violated: Callable[[str], None] = lambda kind: None,
    ) -> None:
        """``violated`` hears of each fault of the client by its kind."""
        self._tools = tools
        self._send = send
        self._start = start
        self._violated = violated
        self._peer = Peer(LINE_BYTES)
        self._calls: dict[Id, anyio.CancelScope] = {}
        self._idle = anyio.Event()
        self._violations = 0

    @property
    def is_hopeless(self) -> bool:
        """Whether the client has broken the rules so often that it is to be left."""
        return self._violations > VIOLATIONS

    async def idle(self) -> None:
        """Wait until no call is under way."""
        while self._calls:
            self._idle = anyio.Event()
            await self._idle.wait()

    def receive(self, data: bytes) -> None:
        """Take bytes of the client: whole lines are answered, or begin to be."""
        for event in self._peer.receive(data):
            if isinstance(event, Request):
                self._asked(event)
            elif isinstance(event, Notification):
                self._told(event)
            elif isinstance(event, Violation):
                self._fault(event)

    def _fault(self, violation: Violation) -> None:
        self._violations += 1
        self._violated(violation.kind)
        if violation.reply is not None and not self.is_hopeless:
            self._send(violation.reply)

    def _told(self, note: Notification) -> None:
        """Only a cancel concerns us: the call ends without an answer, as the client expects."""
        if note.method != "notifications/cancelled":
            return
        try:
            id = _read(mcp.CancelledParams, note.params).request_id
        except RequestError:
            self._fault(Violation("message", "cancelled: no requestId", bytes(note.params)))
            return
        if scope := self._calls.get(id):
            scope.cancel()

    # -- requests ---------------------------------------------------------------------------------

    def _asked(self, request: Request) -> None:
        try:
            meta = _meta(request.params)
            modern = request.method != "initialize" and _is_modern(request.method, meta)
            if request.method == "tools/call":
                self._begin(request, meta, modern=modern)
            else:
                self._answer(request.id, _shaped(self._result(request), request.method, modern))
        except RequestError as error:
            self._send(self._peer.refuse(request.id, error.code, error.message, error.data))

    def _result(self, request: Request) -> msgspec.Struct | None:
        match request.method:
            case "initialize":
                return _initialized(_read(mcp.InitializeParams, request.params))
            case "server/discover":
                versions = [*mcp.MODERN_VERSIONS, *reversed(mcp.HANDSHAKE_VERSIONS)]
                return mcp.DiscoverResult(versions, _tools, INSTRUCTIONS)
            case "ping":
                return None
            case "tools/list":
                return mcp.ListToolsResult([_info(tool) for tool in self._tools.listed()])
        raise RequestError(errors.METHOD_NOT_FOUND, f"no method {request.method[:200]}")

    def _answer(self, id: Id, result: Json) -> None:
        self._send(self._peer.respond(id, result))

    def _begin(self, request: Request, meta: Json, *, modern: bool) -> None:
        """Start a call. It is on record before its task runs: a cancel may be right behind it."""
        params = _read(mcp.CallToolParams, request.params)
        scope = self._calls[request.id] = anyio.CancelScope()
        progress = self._progress(meta.get("progressToken"))

        async def run() -> None:
            with scope:
                await self._call(request.id, params, progress, modern=modern)
            if self._calls.pop(request.id, None):
                self._peer.respond(request.id, None)  # to nobody: the client has taken it back
            if not self._calls:
                self._idle.set()

        self._start(run)

    async def _call(
        self,
        id: Id,
        params: mcp.CallToolParams,
        progress: Callable[[str], None],
        *,
        modern: bool,
    ) -> None:
        arguments = None if params.arguments is UNSET else params.arguments
        try:
            outcome = await self._tools.call(params.name, arguments, progress)
        except UnknownTool:
            text = f"no tool {params.name[:200]}"
            line = self._peer.refuse(id, errors.INVALID_PARAMS, text)
        else:
            line = self._peer.respond(id, _shaped(_told_as(outcome), "tools/call", modern))
        del self._calls[id]
        self._send(line)

    def _progress(self, token: Any) -> Callable[[str], None]:
        """What says how far a call is, to a client that has asked for that."""
        if isinstance(token, bool) or not isinstance(token, int | str):
            return lambda text: None
        numbers = count(1)

        def tell(text: str) -> None:
            params = mcp.ProgressParams(token, next(numbers), printable(text))
            self._send(self._peer.notify("notifications/progress", params))

        return tell


def _initialized(params: mcp.InitializeParams) -> mcp.InitializeResult:
    asked = params.protocol_version
    version = asked if asked in mcp.HANDSHAKE_VERSIONS else mcp.HANDSHAKE_VERSIONS[-1]
    return mcp.InitializeResult(version, _tools, SERVER, INSTRUCTIONS)


def _info(tool: Tool[Any]) -> mcp.ToolInfo:
    hints = mcp.ToolAnnotations(
        tool.title,
        read_only_hint=not tool.writes,
        destructive_hint=tool.writes,
        open_world_hint=False,
    )
    schema = input_schema(tool.arguments) if tool.schema is None else dict(tool.schema)
    return mcp.ToolInfo(tool.name, tool.title, tool.description, schema, hints)


def _told_as(outcome: Outcome) -> mcp.CallToolResult:
    result = outcome.result
    return mcp.CallToolResult(
        [mcp.TextContent(result.text)],
        UNSET if result.structured is None else result.structured,
        is_error=True if outcome.failed else UNSET,
    )


def _shaped(result: msgspec.Struct | None, method: str, modern: bool) -> Json:
    """The result as its era has it."""
    shaped: Json = {} if result is None else msgspec.to_builtins(result)
    if modern:
        shaped["resultType"] = "complete"
        shaped["_meta"] = {mcp.SERVER_KEY: msgspec.to_builtins(SERVER)}
        if method in ("tools/list", "server/discover"):
            shaped |= {"ttlMs": 0, "cacheScope": "private"}
    return shaped


def _meta(params: msgspec.Raw) -> Json:
    """`_meta` of a request. RequestError: the params, or it, are no object."""
    found = _read(dict[str, Any], params).get("_meta")
    if found is not None and not isinstance(found, dict):
        raise RequestError(errors.INVALID_PARAMS, "params._meta: an object is expected")
    return found or {}


def _is_modern(method: str, meta: Json) -> bool:
    """Whether a request is of the era without a handshake. RequestError: of a version that is not
    served, or it does not say all that it has to.
    """
    version = meta.get(mcp.VERSION_KEY)
    if version is None and method != "server/discover":
        return False
    if not isinstance(version, str) or mcp.CAPABILITIES_KEY not in meta:
        needed = f"{mcp.VERSION_KEY} and {mcp.CAPABILITIES_KEY}"
        raise RequestError(errors.INVALID_PARAMS, f"params._meta: {needed} are needed")
    if version not in mcp.MODERN_VERSIONS:
        served = [*mcp.MODERN_VERSIONS, *reversed(mcp.HANDSHAKE_VERSIONS)]
        data = mcp.UnsupportedVersion(served, version)
        raise RequestError(mcp.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    return True


def _read(wanted: type[T], params: msgspec.Raw) -> T:
    raw = b"{}" if bytes(params).strip() == b"null" else params
    try:
        return msgspec.json.decode(raw, type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(errors.INVALID_PARAMS, f"params: {error}") from error
