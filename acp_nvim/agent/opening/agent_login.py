"""Login of a connection, and the login state that its agent reports (rfds/get-auth-state)."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.opening import auth
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.settings import AgentSettings
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError


class AgentLogin:
    """Login of one connection."""

    def __init__(
        self,
        spec: AgentSettings,
        agent: Callable[[], Agent],
        warnings: ProtocolWarnings,
        changed: Callable[[], None],
    ) -> None:
        """`changed` is called when `state` changes."""
        self.state: schema.AuthStatusResponse | None = None
        """The login state, from agents that report it."""
        self._spec = spec
        self._agent = agent
        self._warnings = warnings
        self._changed = changed
        self._lock = anyio.Lock()
        self._pending: set[anyio.CancelScope] = set()
        """Scopes of the pending `authenticate` requests."""
        self._configured: bool | None = None
        """Whether the configured login succeeded, or None before the first attempt."""

    async def allow_retry(self) -> None:
        """Allow another attempt with the configured method, since the user has logged in."""
        self._configured = None
        await self.ask_state()

    async def try_configured(self) -> bool:
        """Log in with the option `auth_method`, at most once until `allow_retry` is called.

        Return whether the login succeeded.
        """
        method = self._spec.auth_method
        if method is None:
            return False
        async with self._lock:
            if self._configured is None:
                self._configured = await self._authenticate(method)
        return self._configured

    async def _authenticate(self, method_id: str) -> bool:
        agent = self._agent()
        method = auth.find(agent.auth_methods, method_id)
        if method is not None and auth.terminal_login(self._spec, method) is not None:
            return False
        try:
            return await self.authenticate(method_id)
        except (RequestError, RemoteProtocolError) as error:
            self._warnings.count("auth_method failed", f"{method_id}: {error}")
            return False

    async def authenticate(self, method_id: str) -> bool:
        """Log in with one of the agent's own methods. Return False if the user cancelled it.

        Raise the errors of `Agent.authenticate`.
        """
        with anyio.CancelScope() as scope:
            self._pending.add(scope)
            try:
                await self._agent().authenticate(method_id)
            finally:
                self._pending.discard(scope)
        return not scope.cancelled_caught

    def cancel(self) -> bool:
        """Cancel all pending logins. Return False if there are none."""
        pending = list(self._pending)
        for scope in pending:
            scope.cancel()
        return bool(pending)

    async def ask_state(self) -> None:
        """Update `state` from an agent that reports it."""
        agent = self._agent()
        capability = agent.capabilities.auth
        if not capability or not capability.status:
            return
        try:
            self.state = await agent.auth_status()
        except (RequestError, RemoteProtocolError, ConnectionClosed) as error:
            self._warnings.count("auth/status failed", str(error))
            return
        self._changed()

    def on_status(self, status: schema.AuthStatusUpdateNotification) -> None:
        self.state = schema.AuthStatusResponse(status.state, status.accounts)
        self._changed()
