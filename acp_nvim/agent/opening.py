"""How a session comes to be at an agent: new, or again after its process was replaced."""

from __future__ import annotations

from typing import Any

from acp_nvim.agent.connection import Connection
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import AUTH_REQUIRED, RequestError
from acp_nvim.session.session import Session


class Opening:
    """Opens one session, by the best way that the agent offers."""

    def __init__(self, session: Session) -> None:
        """The session has no id yet, or one from a connection that is gone."""
        self.session = session

    async def run(self, connection: Connection) -> None:
        """Open it: resume, else new with the reason stated. Raises `RequestError` of the agent."""
        session = self.session
        known = session.id
        session.status = "starting"
        session.change("status")
        try:
            result = await self._open(connection, known)
        except RequestError as error:
            method = connection.spec.auth_method
            if error.code != AUTH_REQUIRED or method is None:
                raise
            await connection.agent.authenticate(method)
            result = await self._open(connection, known)
        self._take_over(result)

    async def _open(self, connection: Connection, known: str) -> Any:
        if not known:
            return await self._new(connection)
        try:
            return await self._again(connection, known)
        except RequestError as error:
            if error.code == AUTH_REQUIRED:
                raise
            return await self._fresh(
                connection, f"the agent could not reopen the session ({error})"
            )

    async def _new(self, connection: Connection) -> schema.NewSessionResponse:
        session = self.session
        result = await connection.agent.new_session(session.cwd, [], session.directories)
        session.id = result.session_id
        connection.client.adopt(result.session_id, session)
        session.change("id")
        session.event("AcpSession", id=result.session_id)
        return result

    async def _again(self, connection: Connection, known: str) -> Any:
        session, agent = self.session, connection.agent
        if not agent.session_capabilities.resume:
            return await self._fresh(connection, "the agent cannot resume sessions")
        connection.client.adopt(known, session)
        try:
            result = await agent.resume_session(known, session.cwd, [], session.directories)
        except RequestError:
            connection.client.forget(session)
            raise
        session.remark("info", f"{connection.title} runs again; the session was resumed")
        session.event("AcpSession", id=known)
        return result

    async def _fresh(self, connection: Connection, reason: str) -> Any:
        self.session.remark(
            "warning", f"a new session: {reason}; what was said before is not known to the agent"
        )
        return await self._new(connection)

    def _take_over(self, result: Any) -> None:
        """Modes and options of the answer; both may be null."""
        session = self.session
        if result.modes:
            session.modes, session.mode = result.modes, result.modes.current_mode_id
        if result.config_options:
            session.options = tuple(result.config_options)
        session.status, session.error = "idle", None
        session.change("status", "error", "modes", "options")
