"""Translation of outgoing messages into version 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import UNSET, UnsetType

from acp_nvim.protocol import schema as v1
from acp_nvim.protocol import updates
from acp_nvim.protocol.v2 import schema as s

Params = Any


def translate_outgoing(method: str, params: Params) -> tuple[str, Params]:
    """Return the method and params in version 2, which may be unchanged."""
    change = _CHANGED.get(type(params))
    if change is None:
        return method, params
    return method_name(method), change(params)


def method_name(method: str) -> str:
    """Return the name of a method in version 2."""
    return _RENAMED.get(method, method)


def initialize(params: v1.InitializeRequest) -> s.InitializeRequest:
    """Return the request with the keys of version 2 only (v2/initialization)."""
    ours = params.client_capabilities or v1.ClientCapabilities()
    terminal = ours.auth and ours.auth.terminal
    capabilities = s.ClientCapabilities(
        auth=s.ClientAuthCapabilities(terminal=s.TerminalAuthCapabilities()) if terminal else UNSET,
        elicitation=ours.elicitation,
        meta={key: value for key, value in (ours.meta or {}).items() if key not in _OLDER} or UNSET,
    )
    info = params.client_info or v1.Implementation(name="acp.nvim", version="")
    return s.InitializeRequest(2, info, capabilities)


def _new(params: v1.NewSessionRequest) -> s.NewSessionRequest:
    return s.NewSessionRequest(**_setup(params))


def _fork(params: v1.ForkSessionRequest) -> s.ForkSessionRequest:
    return s.ForkSessionRequest(params.session_id, cursor_id=params.cursor_id, **_setup(params))


def _resume(params: v1.ResumeSessionRequest) -> s.ResumeSessionRequest:
    return s.ResumeSessionRequest(params.session_id, **_setup(params))


def _load(params: v1.LoadSessionRequest) -> s.ResumeSessionRequest:
    """Return a request to resume the session with its history (v2/session-setup)."""
    start = s.ReplayFromStart()
    return s.ResumeSessionRequest(params.session_id, replay_from=start, **_setup(params))


def _setup(params: Any) -> dict[str, Any]:
    servers = params.mcp_servers
    return {
        "cwd": params.cwd,
        "additional_directories": params.additional_directories,
        "mcp_servers": [_server(server) for server in servers] if servers else UNSET,
        "system_prompt": params.system_prompt,
        "config_options": _initial(params.config_options),
        "meta": params.meta,
    }


def _initial(given: Any) -> list[s.InitialSessionConfigOption] | UnsetType:
    if not given:
        return UNSET
    return [
        s.InitialSessionConfigOption(option.config_id, _kind(option.value), option.value)
        for option in given
    ]


def _kind(value: str | bool) -> str:
    return "boolean" if isinstance(value, bool) else "id"


def _server(server: Any) -> Any:
    match server:
        case v1.McpServerStdio():
            return s.McpServerStdio(server.name, server.command, server.args, server.env)
        case v1.McpServerHttp():
            return s.McpServerHttp(server.name, server.url, server.headers)
        case _:
            return server


def _prompt(params: v1.PromptRequest) -> s.PromptRequest:
    blocks: Any = params.prompt
    return s.PromptRequest(params.session_id, blocks, meta=params.meta)


def _option(params: v1.SetSessionConfigOptionRequest) -> s.SetSessionConfigOptionRequest:
    value: Any = params.value
    kind = _kind(value)
    return s.SetSessionConfigOptionRequest(params.session_id, params.config_id, kind, value)


def _list(params: v1.ListSessionsRequest) -> s.ListSessionsRequest:
    archived: Any = UNSET if isinstance(params.archived, UnsetType) else params.archived
    return s.ListSessionsRequest(cwd=params.cwd, cursor=params.cursor, archived=archived)


_CHANGED: Final[dict[type, Callable[[Any], Any]]] = {
    v1.InitializeRequest: initialize,
    v1.AuthenticateRequest: lambda params: s.LoginAuthRequest(params.method_id),
    v1.LogoutRequest: lambda params: s.LogoutAuthRequest(),
    v1.NewSessionRequest: _new,
    v1.ForkSessionRequest: _fork,
    v1.ResumeSessionRequest: _resume,
    v1.LoadSessionRequest: _load,
    v1.PromptRequest: _prompt,
    v1.SetSessionConfigOptionRequest: _option,
    v1.ListSessionsRequest: _list,
    updates.CancelCall: lambda params: s.CancelToolCallRequest(
        params.session_id, params.tool_call_id
    ),
    updates.CancelTerminal: lambda params: s.CancelTerminalRequest(
        params.session_id, params.terminal_id
    ),
}

_OLDER: Final = ("terminal-auth", "terminal_output")
"""Keys of `_meta` for features that are part of version 2."""

_RENAMED: Final = {
    "authenticate": "auth/login",
    "logout": "auth/logout",
    "session/load": "session/resume",
}
