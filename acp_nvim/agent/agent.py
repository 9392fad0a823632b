"""Client requests to an agent, one typed method each, and the capabilities they depend on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
from msgspec import UNSET, Struct, UnsetType

from acp_nvim import __version__, wording
from acp_nvim.agent.opening.session_params import SessionParams
from acp_nvim.agent.wire.calls import OnInserted, OutgoingCall
from acp_nvim.agent.wire.endpoint import Endpoint
from acp_nvim.protocol import schema, updates
from acp_nvim.protocol.errors import (
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    RemoteProtocolError,
    RequestError,
)
from acp_nvim.session.lists import LISTED

VERSIONS = (1, 2)
"""Protocol versions that this client supports."""

OnResponse = Callable[[Any, Any], None]
"""Function called in wire order with `(result, None)` or `(None, error)`."""


class OtherVersion(RemoteProtocolError):
    """The agent answered `initialize` with a version other than the one requested."""

    def __init__(self, theirs: int | str) -> None:
        """`theirs` is the version in the agent's answer."""
        ours = " and ".join(map(str, VERSIONS))
        super().__init__(wording.WHY_PROTOCOL.format(theirs=theirs, ours=ours))
        self.theirs = theirs


class Agent:
    """Outgoing calls to one agent.

    Each call raises `RequestError` if the agent refuses, and `ConnectionClosed` if it has ended.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        """Start with default capabilities, which `initialize` replaces."""
        self._endpoint = endpoint
        self.capabilities = schema.AgentCapabilities()
        self.info: schema.Implementation | None = None
        self.auth_methods: Sequence[schema.AuthMethod] = ()
        self.methods_left = 0
        """Number of authentication methods beyond the limit."""
        self.protocol: int | str | None = None
        self.starts_servers = True
        """Whether the agent starts MCP servers."""
        self.can_add_prompts = False
        """Whether the agent accepts a prompt during a turn."""
        self.can_steer = False
        """Whether the agent offers to insert text into a running turn (`steer`)."""
        self._closing: dict[str, anyio.Event] = {}
        """Sessions whose `session/close` has not been answered."""

    def set_behaviour(self, *, starts_servers: bool, can_add_prompts: bool) -> None:
        """Set the behaviour that the protocol version implies."""
        self.starts_servers, self.can_add_prompts = starts_servers, can_add_prompts

    async def initialize(self, capabilities: schema.ClientCapabilities, version: int) -> None:
        """Negotiate the version and store the agent's capabilities (v1/initialization).

        Raise `OtherVersion` if the agent answers with another version.
        """
        request = schema.InitializeRequest(
            protocol_version=version,
            client_capabilities=capabilities,
            client_info=schema.Implementation(
                name="acp.nvim", title="acp.nvim", version=__version__
            ),
        )
        result: schema.InitializeResponse = await self._endpoint.request("initialize", request)
        self.protocol = result.protocol_version
        if result.protocol_version != version:
            raise OtherVersion(result.protocol_version)
        self.capabilities = result.agent_capabilities or schema.AgentCapabilities()
        self.info = result.agent_info or None
        methods = result.auth_methods or ()
        self.auth_methods = tuple(methods[:LISTED])
        self.methods_left = max(len(methods) - LISTED, 0)
        steering = (schema.given(result.meta) or {}).get("steering")
        self.can_steer = isinstance(steering, dict) and steering.get("supported") is True

    @property
    def prompt_capabilities(self) -> schema.PromptCapabilities:
        """Return the prompt content that the agent accepts besides text and resource links."""
        return self.capabilities.prompt_capabilities or schema.PromptCapabilities()

    @property
    def session_capabilities(self) -> schema.SessionCapabilities:
        """Return the session methods that the agent supports."""
        return self.capabilities.session_capabilities or schema.SessionCapabilities()

    async def authenticate(self, method_id: str) -> None:
        """Log in with one of the agent's own methods (v1/authentication)."""
        await self._endpoint.request("authenticate", schema.AuthenticateRequest(method_id))

    async def logout(self) -> None:
        """Log out. Requires `auth.logout` (v1/authentication)."""
        await self._endpoint.request("logout", schema.LogoutRequest())

    async def auth_status(self) -> schema.AuthStatusResponse:
        """Return the login state. Requires `auth.status` (rfds/get-auth-state)."""
        result: schema.AuthStatusResponse = await self._endpoint.request(
            "auth/status", schema.AuthStatusRequest()
        )
        return result

    # -- providers, which require a capability (rfds/custom-llm-endpoint) --------------------------

    async def list_providers(self) -> Sequence[schema.ProviderInfo]:
        """Return the agent's model providers and their base URLs."""
        result: schema.ListProvidersResponse = await self._endpoint.request(
            "providers/list", schema.ListProvidersRequest()
        )
        return tuple(result.providers)

    async def set_provider(
        self, provider_id: str, api_type: str, base_url: str, headers: Mapping[str, str]
    ) -> None:
        """Redirect a provider's requests from now on.

        `headers` are secret and replace all earlier ones.
        """
        request = schema.SetProviderRequest(provider_id, api_type, base_url, dict(headers))
        await self._endpoint.request("providers/set", request)

    async def disable_provider(self, provider_id: str) -> None:
        """Stop using a provider. A required provider cannot be disabled."""
        request = schema.DisableProviderRequest(provider_id)
        await self._endpoint.request("providers/disable", request)

    # -- opening a session ------------------------------------------------------------------------

    async def new_session(
        self, cwd: str, params: SessionParams, directories: Sequence[str], on_response: OnResponse
    ) -> schema.NewSessionResponse:
        """Start a session (v1/session-setup).

        `on_response` receives the session's id in wire order.
        """
        result: schema.NewSessionResponse = await self._endpoint.request(
            "session/new",
            schema.NewSessionRequest(cwd=cwd, **self._fields(params, directories)),
            on_response=on_response,
        )
        return result

    async def load_session(
        self,
        session_id: str,
        cwd: str,
        params: SessionParams,
        directories: Sequence[str],
        on_response: OnResponse | None = None,
    ) -> schema.LoadSessionResponse:
        """Open a stored session with its history. Requires `loadSession` (v1/session-setup)."""
        await self._wait_closed(session_id)
        fields = self._fields(params, directories)
        result: schema.LoadSessionResponse = await self._endpoint.request(
            "session/load",
            schema.LoadSessionRequest(session_id=session_id, cwd=cwd, **fields),
            on_response=on_response,
        )
        return result

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        params: SessionParams,
        directories: Sequence[str],
        on_response: OnResponse | None = None,
    ) -> schema.ResumeSessionResponse:
        """Open a stored session without its history. Requires `sessionCapabilities.resume`."""
        await self._wait_closed(session_id)
        fields = self._fields(params, directories)
        result: schema.ResumeSessionResponse = await self._endpoint.request(
            "session/resume",
            schema.ResumeSessionRequest(session_id=session_id, cwd=cwd, **fields),
            on_response=on_response,
        )
        return result

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        params: SessionParams,
        directories: Sequence[str],
        *,
        cursor_id: str | UnsetType = UNSET,
        meta: Mapping[str, Any] | None = None,
    ) -> schema.ForkSessionResponse:
        """Start a session with the context of another session, up to a cursor if one is given.

        Requires `sessionCapabilities.fork` (rfds/session-fork). `meta` is added to the session's
        `_meta`.
        """
        fields = self._fields(params, directories)
        if meta:
            fields["meta"] = {**(fields["meta"] or {}), **meta}
        request = schema.ForkSessionRequest(
            session_id=session_id, cwd=cwd, cursor_id=cursor_id, **fields
        )
        result: schema.ForkSessionResponse = await self._endpoint.request("session/fork", request)
        return result

    def _fields(self, params: SessionParams, directories: Sequence[str]) -> dict[str, Any]:
        """Return the params as request fields.

        `additionalDirectories` is sent only to agents that support it, always as the full list.
        """
        accepted = directories and self.session_capabilities.additional_directories
        return {
            "additional_directories": list(directories) if accepted else UNSET,
            **params.fields(),
        }

    # -- turns ------------------------------------------------------------------------------------

    def begin_prompt(
        self,
        session_id: str,
        blocks: Sequence[Any],
        on_response: OnResponse,
        meta: Mapping[str, Any] | None = None,
        on_inserted: OnInserted | None = None,
    ) -> OutgoingCall:
        """Send a prompt and return at once. The answer ends the turn (v1/prompt-turn).

        `on_inserted` is called before the answer if the agent reports the message as inserted
        (v2/prompt-lifecycle).
        """
        request = schema.PromptRequest(
            session_id=session_id, prompt=list(blocks), meta=dict(meta) if meta else UNSET
        )
        return self._endpoint.begin(
            "session/prompt", request, on_response=on_response, on_inserted=on_inserted
        )

    async def steer(self, session_id: str, text: str) -> bool:
        """Insert text into the running turn. Return False if the agent did not accept it.

        Several agents have this extension. They offer it in `_meta.steering` of `initialize`.
        """
        params = {
            "sessionId": session_id,
            "prompt": [{"type": "text", "text": text}],
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        }
        result = await self.extension("_session/steering", params)
        outcome = result.get("outcome") if isinstance(result, dict) else None
        return outcome in ("injected", "startedNewTurn")

    def cancel_request(self, call: OutgoingCall) -> None:
        """Cancel a request (v1/cancellation)."""
        self._endpoint.cancel(call)

    async def cancel_call(self, session_id: str, tool_call_id: str) -> None:
        """Cancel a tool call that the agent has declared cancellable.

        A status update reports the end of the call (v2/tool-calls).
        """
        request = updates.CancelCall(session_id, tool_call_id)
        await self._endpoint.request("tool_call/cancel", request)

    async def cancel_terminal(self, session_id: str, terminal_id: str) -> None:
        """End a terminal that the agent has declared cancellable.

        An update reports the exit (v2/tool-calls).
        """
        request = updates.CancelTerminal(session_id, terminal_id)
        await self._endpoint.request("terminal/cancel", request)

    def cancel(self, session_id: str) -> None:
        """Cancel the running turn. Its prompt is still answered (v1/prompt-turn#cancellation)."""
        self._endpoint.notify("session/cancel", schema.CancelNotification(session_id))

    def notify_mcp(self, note: Struct) -> None:
        """Report progress on a request that a server of type `acp` handles (rfds/mcp-over-acp)."""
        self._endpoint.notify("mcp/message", note)

    async def extension(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request outside the protocol, whose name starts with `_` (v1/extensibility)."""
        return await self._endpoint.request(method, params)

    # -- stored sessions: each call requires a capability -----------------------------------------

    async def list_sessions(self, cursor: str | None, archived: str | None) -> Any:
        """Return one page of stored sessions as a `ListSessionsResponse` (v1/session-list).

        `archived` is include, exclude or only, for agents with `sessionCapabilities.archive`.
        """
        request = schema.ListSessionsRequest(
            cursor=UNSET if cursor is None else cursor,
            archived=UNSET if archived is None else archived,
        )
        return await self._endpoint.request("session/list", request)

    async def close_session(self, session_id: str) -> None:
        """Close a session, which remains stored (v1/session-setup).

        Opening it again waits for the answer, because an agent might close the reopened session.
        """
        closed = self._closing[session_id] = anyio.Event()
        try:
            await self._request_unless_unknown(
                "session/close", schema.CloseSessionRequest(session_id)
            )
        finally:
            closed.set()
            if self._closing.get(session_id) is closed:
                del self._closing[session_id]

    async def _wait_closed(self, session_id: str) -> None:
        while (closed := self._closing.get(session_id)) is not None:
            await closed.wait()

    async def delete_session(self, session_id: str) -> None:
        """Delete a stored session (v1/session-delete)."""
        await self._request_unless_unknown(
            "session/delete", schema.DeleteSessionRequest(session_id)
        )

    async def _request_unless_unknown(self, method: str, request: Any) -> None:
        """Send the request. An unknown session counts as success."""
        try:
            await self._endpoint.request(method, request)
        except RequestError as error:
            if error.code != RESOURCE_NOT_FOUND:
                raise

    async def archive_session(self, session_id: str, archived: bool) -> None:
        """Archive a session, or restore it from the archive (rfds/session-archive)."""
        if archived:
            await self._endpoint.request(
                "session/archive", schema.ArchiveSessionRequest(session_id)
            )
        else:
            await self._endpoint.request(
                "session/unarchive", schema.UnarchiveSessionRequest(session_id)
            )

    async def session_status(self, session_id: str) -> str:
        """Return `open` for a session in the agent's memory, else `saved` (rfds/session-status)."""
        result = await self._endpoint.request(
            "session/status", schema.SessionStatusRequest(session_id)
        )
        return str(result.status)

    async def session_options(self, cwd: str, session_id: str) -> schema.SessionOptionsResponse:
        """Return the options that a stored session would start with.

        Requires `sessionCapabilities.options` (rfds/session-options).
        """
        request = schema.SessionOptionsRequest(cwd, session_id=session_id)
        result: schema.SessionOptionsResponse = await self._endpoint.request(
            "session/options", request
        )
        return result

    async def set_title(self, session_id: str, title: str) -> str:
        """Name a session. Return the name that the agent stored (rfds/session-set-title)."""
        result = await self._endpoint.request(
            "session/set_title", schema.SetSessionTitleRequest(session_id, title)
        )
        return str(result.title)

    # -- choices ----------------------------------------------------------------------------------

    async def set_mode(self, session_id: str, mode_id: str) -> None:
        """Switch the session's mode (v1/session-modes)."""
        await self._endpoint.request(
            "session/set_mode", schema.SetSessionModeRequest(session_id=session_id, mode_id=mode_id)
        )

    async def set_config_option(
        self, session_id: str, config_id: str, value: str | bool
    ) -> Sequence[schema.SessionConfigOption]:
        """Set a config option. Return the complete new list (v1/session-config-options)."""
        kind: Any = "boolean" if isinstance(value, bool) else UNSET
        request = schema.SetSessionConfigOptionRequest(
            session_id=session_id, config_id=config_id, value=value, type=kind
        )
        result: schema.SetSessionConfigOptionResponse = await self._endpoint.request(
            "session/set_config_option", request
        )
        return tuple(result.config_options)

    async def set_model(self, session_id: str, model_id: str) -> None:
        """Switch the model of a session that has `models`.

        This request was removed from the protocol on 2026-06-01.
        """
        request = schema.SetSessionModelRequest(session_id=session_id, model_id=model_id)
        await self._endpoint.request("session/set_model", request)


def supported_versions(error: RequestError) -> list[Any] | None:
    """Return the versions that an agent lists in its refusal. Return None for other refusals."""
    if error.code != UNSUPPORTED_VERSION:
        return None
    data = error.data if isinstance(error.data, dict) else {}
    versions = data.get("supported")
    return versions if isinstance(versions, list) else []
