"""Methods of an MCP server with tools, for any transport."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET

from acp_nvim import __version__
from acp_nvim.protocol import errors
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.jsonrpc import Id
from acp_nvim.tools.server import mcp_types as mcp
from acp_nvim.tools.server.arguments import input_schema
from acp_nvim.tools.server.list_changes import ListChanges
from acp_nvim.tools.server.session_tools import SessionTools
from acp_nvim.tools.server.tool import Tool
from acp_nvim.tools.server.toolbox import Outcome, UnknownTool, printable

T = TypeVar("T")
Json = dict[str, Any]
Notify = Callable[[str, msgspec.Struct], None]
"""Function that sends a notification with a method and params."""

SERVER: Final = mcp.Implementation("neovim", __version__, "Neovim")
INSTRUCTIONS: Final = (
    "The user's Neovim. These tools see more than the files on disk: unsaved text in open "
    "buffers, and the results of language servers. Lines and columns are 1-based; paths may be "
    "relative to the session's directory."
)

LISTENERS: Final = 32
"""Maximum number of listening clients per session."""
CHANGED: Final = "notifications/tools/list_changed"

_tools: Final = mcp.ServerCapabilities(mcp.ToolsCapability(list_changed=True))


class ToolCall(msgspec.Struct, frozen=True):
    """Decoded `tools/call` request. `run` returns its result."""

    tools: SessionTools
    params: mcp.CallToolParams
    progress: Callable[[str], None]
    is_modern: bool

    async def run(self) -> Json:
        """Call the tool and return the result. Raise RequestError if there is no such tool."""
        params = self.params
        arguments = None if params.arguments is UNSET else params.arguments
        try:
            outcome = await self.tools.call(params.name, arguments, self.progress)
        except UnknownTool as error:
            text = f"no tool {params.name[:200]}"
            raise RequestError(errors.INVALID_PARAMS, text) from error
        return _fit_to_era(_call_result(outcome), "tools/call", is_modern=self.is_modern)


class Subscription(msgspec.Struct, frozen=True):
    """Decoded `subscriptions/listen` request (MCP 2026-07-28, basic/patterns/subscriptions).

    While `run` runs, the client receives changes. Clients of that era have no connection, so only
    this request can send them changes.
    """

    changes: ListChanges
    wants_changes: bool
    """Whether the client wants changes to the tool list. There are no other subscriptions."""
    id: Id
    notify: Notify

    async def run(self) -> Json:
        """Send changes until the session has no tools. The result reports that.

        Raise RequestError if too many clients listen.
        """
        if self.changes.waiting >= LISTENERS:
            text = f"{LISTENERS} clients listen; end a subscription"
            raise RequestError(errors.INTERNAL_ERROR, text)
        meta = {mcp.SUBSCRIPTION_KEY: self.id}
        seen = self.changes.count
        honored = mcp.SubscriptionFilter(tools_list_changed=self.wants_changes or UNSET)
        self.notify(
            "notifications/subscriptions/acknowledged", mcp.AcknowledgedParams(honored, meta)
        )
        while await self.changes.after(seen):
            seen = self.changes.count
            if self.wants_changes:
                self.notify(CHANGED, mcp.ChangedParams(meta))
        shaped = _fit_to_era(None, "subscriptions/listen", is_modern=True)
        shaped["_meta"] |= meta
        return shaped


Work = ToolCall | Subscription
"""Request whose result is not available at once."""


def answer(
    tools: SessionTools, id: Id, method: str, params: msgspec.Raw, notify: Notify
) -> Json | Work:
    """Return the result of a request, or the work that returns it later. Raise RequestError."""
    meta = _meta(params)
    is_modern = method != "initialize" and _is_modern(method, meta)
    if method == "tools/call":
        progress = _progress(meta.get("progressToken"), notify)
        return ToolCall(tools, read(mcp.CallToolParams, params), progress, is_modern)
    if method == "subscriptions/listen" and is_modern:
        is_wanted = read(mcp.ListenParams, params).notifications.tools_list_changed is True
        return Subscription(tools.changes, is_wanted, id, notify)
    return _fit_to_era(_result(tools, method, params), method, is_modern=is_modern)


async def send_changes(changes: ListChanges, seen: int, notify: Notify) -> None:
    """Send each change to a client of the era with a handshake (MCP 2025-11-25, server/tools).

    The client already has the first `seen` changes. Return when the session has no tools.
    """
    while await changes.after(seen):
        seen = changes.count
        notify(CHANGED, mcp.ChangedParams())


def _result(tools: SessionTools, method: str, params: msgspec.Raw) -> msgspec.Struct | None:
    match method:
        case "initialize":
            return _initialize(read(mcp.InitializeParams, params))
        case "server/discover":
            versions = [*mcp.MODERN_VERSIONS, *reversed(mcp.HANDSHAKE_VERSIONS)]
            return mcp.DiscoverResult(versions, _tools, INSTRUCTIONS)
        case "ping":
            return None
        case "tools/list":
            return mcp.ListToolsResult([_info(tool) for tool in tools.list_tools()])
    raise RequestError(errors.METHOD_NOT_FOUND, f"no method {method[:200]}")


def _progress(token: Any, notify: Notify) -> Callable[[str], None]:
    """Return a function that reports the progress of a call, if the client requested it."""
    if isinstance(token, bool) or not isinstance(token, int | str):
        return lambda text: None
    numbers = count(1)

    def progress(text: str) -> None:
        params = mcp.ProgressParams(token, next(numbers), printable(text))
        notify("notifications/progress", params)

    return progress


def _initialize(params: mcp.InitializeParams) -> mcp.InitializeResult:
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


def _call_result(outcome: Outcome) -> mcp.CallToolResult:
    result = outcome.result
    return mcp.CallToolResult(
        [mcp.TextContent(result.text)],
        UNSET if result.structured is None else result.structured,
        is_error=True if outcome.has_failed else UNSET,
    )


def _fit_to_era(result: msgspec.Struct | None, method: str, *, is_modern: bool) -> Json:
    """Return the result in the format of the request's era."""
    shaped: Json = {} if result is None else msgspec.to_builtins(result)
    if is_modern:
        shaped["resultType"] = "complete"
        shaped["_meta"] = {mcp.SERVER_KEY: msgspec.to_builtins(SERVER)}
        if method in ("tools/list", "server/discover"):
            shaped |= {"ttlMs": 0, "cacheScope": "private"}
    return shaped


def _meta(params: msgspec.Raw) -> Json:
    """Return `_meta` of a request. Raise RequestError if it or the params are not an object."""
    meta = read(dict[str, Any], params).get("_meta")
    if meta is not None and not isinstance(meta, dict):
        raise RequestError(errors.INVALID_PARAMS, "params._meta: an object is expected")
    return meta or {}


def _is_modern(method: str, meta: Json) -> bool:
    """Return whether a request belongs to the era without a handshake.

    Raise RequestError if its version is not supported or required members are missing.
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


def read(target: type[T], params: msgspec.Raw) -> T:
    """Decode params. Null and absent params are an empty object. Raise RequestError."""
    raw = b"{}" if bytes(params).strip() == b"null" else params
    try:
        return msgspec.json.decode(raw, type=target)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(errors.INVALID_PARAMS, f"params: {error}") from error
