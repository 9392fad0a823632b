"""All methods of ACP v1: handler, types, and required capability.

A gate is a path into the capabilities of `initialize`: AC is agentCapabilities, SC its
sessionCapabilities, CC clientCapabilities. Methods of the baseline have an empty gate.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from acp_nvim.protocol import schema as s
from acp_nvim.protocol import updates

Side: TypeAlias = Literal["agent", "client", "proxy"]


class Method(Struct, frozen=True, kw_only=True):
    """Row of the table. `params` and `result` are types of `schema`, or unions of them.

    `handler` is the side that receives the method, or "both" for `$/cancel_request`. A notification
    has no result type.
    """

    name: str
    handler: Side | Literal["both"]
    params: Any
    result: Any = None
    stable: bool = True
    gate: str = ""

    @property
    def kind(self) -> Literal["request", "notification"]:
        return "notification" if self.result is None else "request"


def _ask(name: str, params: Any, result: Any, gate: str = "", *, stable: bool = True) -> Method:
    return Method(
        name=name, handler="agent", params=params, result=result, gate=gate, stable=stable
    )


def _serve(name: str, params: Any, result: Any, gate: str = "", *, stable: bool = True) -> Method:
    return Method(
        name=name, handler="client", params=params, result=result, gate=gate, stable=stable
    )


METHODS: Final[tuple[Method, ...]] = (
    _ask("initialize", s.InitializeRequest, s.InitializeResponse),
    _ask("authenticate", s.AuthenticateRequest, s.AuthenticateResponse, "id in authMethods"),
    _ask("logout", s.LogoutRequest, s.LogoutResponse, "AC.auth.logout"),
    _ask("auth/status", s.AuthStatusRequest, s.AuthStatusResponse, "AC.auth.status", stable=False),
    _ask("session/new", s.NewSessionRequest, s.NewSessionResponse),
    _ask("session/load", s.LoadSessionRequest, s.LoadSessionResponse, "AC.loadSession"),
    _ask("session/resume", s.ResumeSessionRequest, s.ResumeSessionResponse, "SC.resume"),
    _ask("session/list", s.ListSessionsRequest, s.ListSessionsResponse, "SC.list"),
    _ask("session/delete", s.DeleteSessionRequest, s.DeleteSessionResponse, "SC.delete"),
    _ask("session/close", s.CloseSessionRequest, s.CloseSessionResponse, "SC.close"),
    _ask("session/fork", s.ForkSessionRequest, s.ForkSessionResponse, "SC.fork", stable=False),
    _ask(
        "session/archive",
        s.ArchiveSessionRequest,
        s.ArchiveSessionResponse,
        "SC.archive",
        stable=False,
    ),
    _ask(
        "session/unarchive",
        s.UnarchiveSessionRequest,
        s.UnarchiveSessionResponse,
        "SC.archive",
        stable=False,
    ),
    _ask(
        "session/status", s.SessionStatusRequest, s.SessionStatusResponse, "SC.status", stable=False
    ),
    _ask(
        "session/set_title",
        s.SetSessionTitleRequest,
        s.SetSessionTitleResponse,
        "SC.title",
        stable=False,
    ),
    _ask(
        "session/set_mode",
        s.SetSessionModeRequest,
        s.SetSessionModeResponse,
        "the session has modes",
    ),
    _ask(
        "session/set_config_option",
        s.SetSessionConfigOptionRequest,
        s.SetSessionConfigOptionResponse,
        "the session has configOptions",
    ),
    _ask("session/prompt", s.PromptRequest, s.PromptResponse),
    _ask("session/cancel", s.CancelNotification, None),
    _ask(
        "providers/list",
        s.ListProvidersRequest,
        s.ListProvidersResponse,
        "AC.providers",
        stable=False,
    ),
    _ask(
        "providers/set", s.SetProviderRequest, s.SetProviderResponse, "AC.providers", stable=False
    ),
    _ask(
        "providers/disable",
        s.DisableProviderRequest,
        s.DisableProviderResponse,
        "AC.providers, provider not required",
        stable=False,
    ),
    _ask("mcp/message", s.MessageMcpNotification, None, "a server of type acp", stable=False),
    _serve("session/update", s.SessionNotification, None),
    _serve("session/request_permission", s.RequestPermissionRequest, s.RequestPermissionResponse),
    _serve(
        "fs/read_text_file", s.ReadTextFileRequest, s.ReadTextFileResponse, "CC.fs.readTextFile"
    ),
    _serve(
        "fs/write_text_file", s.WriteTextFileRequest, s.WriteTextFileResponse, "CC.fs.writeTextFile"
    ),
    _serve("terminal/create", s.CreateTerminalRequest, s.CreateTerminalResponse, "CC.terminal"),
    _serve("terminal/output", s.TerminalOutputRequest, s.TerminalOutputResponse, "CC.terminal"),
    _serve(
        "terminal/wait_for_exit",
        s.WaitForTerminalExitRequest,
        s.WaitForTerminalExitResponse,
        "CC.terminal",
    ),
    _serve("terminal/kill", s.KillTerminalRequest, s.KillTerminalResponse, "CC.terminal"),
    _serve("terminal/release", s.ReleaseTerminalRequest, s.ReleaseTerminalResponse, "CC.terminal"),
    _serve(
        "elicitation/create",
        s.ElicitationRequest,
        s.ElicitationResponse,
        "CC.elicitation.form, CC.elicitation.url",
    ),
    _serve("elicitation/complete", s.CompleteElicitationNotification, None, "CC.elicitation.url"),
    _serve(
        "auth/status_update", s.AuthStatusUpdateNotification, None, "AC.auth.status", stable=False
    ),
    _serve(
        "mcp/message",
        s.MessageMcpRequest,
        s.MessageMcpResponse,
        "AC.mcpCapabilities.acp",
        stable=False,
    ),
    Method(name="$/cancel_request", handler="both", params=s.CancelRequestNotification),
    Method(
        name="proxy/initialize",
        handler="proxy",
        params=s.InitializeProxyRequest,
        result=s.InitializeProxyResponse,
        stable=False,
    ),
    Method(
        name="proxy/successor",
        handler="proxy",
        params=s.ProxySuccessorRequest,
        result=s.ProxySuccessorResponse,
        stable=False,
    ),
    Method(
        name="proxy/successor",
        handler="proxy",
        params=s.ProxySuccessorNotification,
        stable=False,
    ),
)


def _index() -> dict[tuple[str, str], Method]:
    index: dict[tuple[str, str], Method] = {}
    for method in METHODS:
        sides = ("agent", "client") if method.handler == "both" else (method.handler,)
        for side in sides:
            index.setdefault((side, method.name), method)
    return index


_BY_SIDE: Final = _index()
REMOVED: Final[tuple[Method, ...]] = (
    _ask(
        "session/set_model",
        s.SetSessionModelRequest,
        s.SetSessionModelResponse,
        "the session has models",
        stable=False,
    ),
)
"""Methods removed from the protocol, for agents that still offer them."""

LATER: Final[tuple[Method, ...]] = (
    _ask(
        "session/options",
        s.SessionOptionsRequest,
        s.SessionOptionsResponse,
        "SC.options",
        stable=False,
    ),
    _ask("tool_call/cancel", updates.CancelCall, updates.Accepted, "the tool call offers it"),
    _ask("terminal/cancel", updates.CancelTerminal, updates.Accepted, "the terminal offers it"),
)
"""Methods of later versions, for agents that support them."""

_REQUESTS: Final = {row.name: row for row in (*METHODS, *REMOVED, *LATER) if row.kind == "request"}


def received_method(name: str, side: Side) -> Method | None:
    """Return the row of a message that `side` receives, or None if it is not in the spec."""
    return _BY_SIDE.get((side, name))


def request_method(name: str) -> Method | None:
    """Return the row of the request with this name, or None if it is not in the spec."""
    return _REQUESTS.get(name)
