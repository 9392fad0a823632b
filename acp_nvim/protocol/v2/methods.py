"""All methods of ACP v2: handler, types, and required capability.

Gates are paths into the capabilities of `initialize`: SC is `capabilities.session`. Methods that
version 2 did not change are included, with the types of version 1.
"""

from __future__ import annotations

from typing import Any, Final

from acp_nvim.protocol import schema as v1
from acp_nvim.protocol.methods import Method
from acp_nvim.protocol.v2 import schema as s


def _ask(name: str, params: Any, result: Any, gate: str = "", *, stable: bool = True) -> Method:
    return Method(
        name=name, handler="agent", params=params, result=result, gate=gate, stable=stable
    )


def _draft(name: str, params: Any, result: Any, gate: str) -> Method:
    return _ask(name, params, result, gate, stable=False)


def _serve(name: str, params: Any, result: Any, gate: str = "", *, stable: bool = True) -> Method:
    return Method(
        name=name, handler="client", params=params, result=result, gate=gate, stable=stable
    )


METHODS: Final[tuple[Method, ...]] = (
    _ask("initialize", s.InitializeRequest, s.InitializeResponse),
    _ask("auth/login", s.LoginAuthRequest, s.LoginAuthResponse, "methodId in authMethods"),
    _ask("auth/logout", s.LogoutAuthRequest, s.LogoutAuthResponse, "authMethods"),
    _draft("auth/status", v1.AuthStatusRequest, v1.AuthStatusResponse, "auth.status"),
    _ask("session/new", s.NewSessionRequest, s.NewSessionResponse),
    _ask("session/resume", s.ResumeSessionRequest, s.ResumeSessionResponse),
    _ask("session/list", s.ListSessionsRequest, v1.ListSessionsResponse),
    _ask("session/close", v1.CloseSessionRequest, v1.CloseSessionResponse),
    _ask("session/delete", v1.DeleteSessionRequest, v1.DeleteSessionResponse, "SC.delete"),
    _draft("session/fork", s.ForkSessionRequest, s.ForkSessionResponse, "SC.fork"),
    _draft("session/archive", v1.ArchiveSessionRequest, v1.ArchiveSessionResponse, "SC.archive"),
    _draft(
        "session/unarchive", v1.UnarchiveSessionRequest, v1.UnarchiveSessionResponse, "SC.archive"
    ),
    _draft("session/status", v1.SessionStatusRequest, s.SessionStatusResponse, "SC.status"),
    _draft("session/options", v1.SessionOptionsRequest, s.SessionOptionsResponse, "SC.options"),
    _draft("session/set_title", v1.SetSessionTitleRequest, v1.SetSessionTitleResponse, "SC.title"),
    _ask(
        "session/set_config_option",
        s.SetSessionConfigOptionRequest,
        s.SetSessionConfigOptionResponse,
        "the session has configOptions",
    ),
    _ask("session/prompt", s.PromptRequest, s.PromptResponse),
    _ask("session/cancel", s.CancelSessionNotification, None),
    _ask(
        "tool_call/cancel",
        s.CancelToolCallRequest,
        s.CancelToolCallResponse,
        "capabilities.cancel of the tool call",
    ),
    _ask(
        "terminal/cancel",
        s.CancelTerminalRequest,
        s.CancelTerminalResponse,
        "capabilities.cancel of the terminal",
    ),
    _draft("providers/list", v1.ListProvidersRequest, v1.ListProvidersResponse, "providers"),
    _draft("providers/set", v1.SetProviderRequest, v1.SetProviderResponse, "providers"),
    _draft("providers/disable", v1.DisableProviderRequest, v1.DisableProviderResponse, "providers"),
    _draft("mcp/message", v1.MessageMcpNotification, None, "a server of type acp"),
    _serve("session/update", s.UpdateSessionNotification, None),
    _serve("session/request_permission", s.RequestPermissionRequest, v1.RequestPermissionResponse),
    _serve("elicitation/create", v1.ElicitationRequest, v1.ElicitationResponse, "elicitation"),
    _serve("elicitation/complete", v1.CompleteElicitationNotification, None, "elicitation.url"),
    _serve(
        "auth/status_update", v1.AuthStatusUpdateNotification, None, "auth.status", stable=False
    ),
    _serve("mcp/message", v1.MessageMcpRequest, v1.MessageMcpResponse, "SC.mcp.acp", stable=False),
    Method(name="$/cancel_request", handler="both", params=v1.CancelRequestNotification),
)

_RESULTS: Final = {row.name: row.result for row in METHODS if row.kind == "request"}
_SERVED: Final = {row.name: row.params for row in METHODS if row.handler != "agent"}


def result_of(name: str) -> Any | None:
    """Return the type of the answer to a request, or None if the protocol has no such request."""
    return _RESULTS.get(name)


def params_type(name: str) -> Any | None:
    """Return the type of the params of an agent's message, or None if agents may not send it."""
    return _SERVED.get(name)
