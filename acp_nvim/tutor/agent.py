"""The tutor as an agent: handshake, sessions, settings, and a turn for each prompt."""

from __future__ import annotations

import asyncio
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from acp_nvim import __version__
from acp_nvim.protocol import errors
from acp_nvim.protocol import schema as s
from acp_nvim.protocol.errors import RequestError
from acp_nvim.tutor.keys import blames, told
from acp_nvim.tutor.lessons import teach
from acp_nvim.tutor.session import COMMANDS, MODES, PACES, Session
from acp_nvim.tutor.turn import Turn

if TYPE_CHECKING:
    from acp_nvim.tutor.connection import Connection

VERSION = 1
PREFIX = "tutor-"


class Tutor:
    """Serves one client. See `connection.Service`."""

    def __init__(self, connection: Connection, sessions: dict[str, Session] | None = None) -> None:
        """``sessions`` are those of a server, which can be resumed by other connections."""
        self._connection = connection
        self._client = s.ClientCapabilities()
        self._sessions: dict[str, Session] = {}
        """Those of this connection."""
        self._stored = sessions

    async def request(self, params: Any) -> s.Wire:
        """Answer a request of the client; -32601 for what the tutor does not do."""
        match params:
            case s.InitializeRequest():
                return self._initialize(params)
            case s.NewSessionRequest():
                return self._new_session(params)
            case s.ResumeSessionRequest() if self._stored is not None:
                return self._resume(params, self._stored)
            case s.PromptRequest():
                return await self._prompt(params)
            case s.SetSessionModeRequest():
                return self._set_mode(params)
            case s.SetSessionConfigOptionRequest():
                return self._set_option(params)
            case s.CloseSessionRequest():
                return self._close(params)
        raise RequestError(errors.METHOD_NOT_FOUND, "the tutor does not do that")

    def notification(self, params: Any) -> None:
        """`session/cancel` ends the turn; nothing else concerns the tutor."""
        if isinstance(params, s.CancelNotification):
            session = self._sessions.get(params.session_id)
            if session is not None and session.turn is not None:
                session.turn.cancel()

    def answered(self, params: Any, result: s.Wire) -> None:
        """A new session has its id now: its slash commands may follow."""
        if isinstance(params, s.NewSessionRequest) and isinstance(result, s.NewSessionResponse):
            form = s.given(self._client.elicitation)
            can_form = form is not None and s.given(form.form) is not None
            commands = [c for c in COMMANDS if c.name != "form" or can_form]
            self._update(result.session_id, s.AvailableCommandsUpdate(commands))

    def _initialize(self, params: s.InitializeRequest) -> s.InitializeResponse:
        self._client = s.given(params.client_capabilities) or s.ClientCapabilities()
        return s.InitializeResponse(
            VERSION,
            s.AgentCapabilities(
                prompt_capabilities=s.PromptCapabilities(embedded_context=True),
                session_capabilities=s.SessionCapabilities(
                    close=s.SessionCloseCapabilities(),
                    resume=UNSET if self._stored is None else s.SessionResumeCapabilities(),
                ),
            ),
            auth_methods=[],
            agent_info=s.Implementation("tutor", __version__, "Tutor"),
        )

    def _new_session(self, params: s.NewSessionRequest) -> s.NewSessionResponse:
        session = Session(f"{PREFIX}{secrets.token_hex(6)}", Path(params.cwd))
        meta = s.given(params.meta)
        session.keys, session.blames = told(meta), blames(meta)
        session.servers = params.mcp_servers
        before = [one for one in self._sessions.values() if one.cwd == session.cwd and one.tour]
        if before:  # `/tour` goes on where it was
            session.tour, session.unfinished = before[-1].tour, True
            session.returned = before[-1].returned
        self._keep(session)
        return s.NewSessionResponse(session.id, session.modes(), session.options())

    def _keep(self, session: Session) -> None:
        self._sessions[session.id] = session
        if self._stored is not None:
            self._stored[session.id] = session

    def _resume(
        self, params: s.ResumeSessionRequest, stored: dict[str, Session]
    ) -> s.ResumeSessionResponse:
        """Go on with a session, also with one of an earlier process: a tutor remembers little."""
        session = stored.get(params.session_id)
        if session is None and not params.session_id.startswith(PREFIX):
            raise _unknown(params.session_id)
        session = session or Session(params.session_id, Path(params.cwd))
        if session.turn is not None:
            session.turn.cancel()  # of a connection that broke
        self._keep(session)
        return s.ResumeSessionResponse(modes=session.modes(), config_options=session.options())

    async def _prompt(self, params: s.PromptRequest) -> s.PromptResponse:
        session = self._session(params.session_id)
        if session.turn is not None:
            raise RequestError(errors.INVALID_REQUEST, "a turn of this session is running")
        turn = Turn(self._connection, self._client, session, params.prompt)
        session.turn = asyncio.create_task(self._run(turn))
        try:
            return await session.turn
        except asyncio.CancelledError:
            session.turn.cancel()  # taken back by `$/cancel_request`, or the client is gone
            await asyncio.wait([session.turn])
            return s.PromptResponse("cancelled")
        finally:
            session.turn, session.ended = None, time.monotonic()

    async def _run(self, turn: Turn) -> s.PromptResponse:
        try:
            await turn.session.silence()
            return s.PromptResponse(await teach(turn))
        except asyncio.CancelledError:
            return s.PromptResponse("cancelled")

    def _set_mode(self, params: s.SetSessionModeRequest) -> s.SetSessionModeResponse:
        session = self._session(params.session_id)
        self._enter(session, params.mode_id)
        self._update(session.id, s.ConfigOptionUpdate(session.options()))
        return s.SetSessionModeResponse()

    def _set_option(
        self, params: s.SetSessionConfigOptionRequest
    ) -> s.SetSessionConfigOptionResponse:
        session = self._session(params.session_id)
        match params.config_id, params.value:
            case "mode", str(mode):
                self._enter(session, mode)
            case "pace", str(pace) if pace in PACES:
                session.pace = pace
            case name, value:
                refused = f"no option {name!r} with a value {value!r}"
                raise RequestError(errors.INVALID_PARAMS, refused)
        return s.SetSessionConfigOptionResponse(session.options())

    def _enter(self, session: Session, mode: str) -> None:
        if mode not in {known.id for known in MODES}:
            raise RequestError(errors.INVALID_PARAMS, f"no mode {mode!r}")
        session.mode = mode
        self._update(session.id, s.CurrentModeUpdate(mode))

    def _close(self, params: s.CloseSessionRequest) -> s.CloseSessionResponse:
        session = self._session(params.session_id)
        session.stop_watching()
        for task in (session.turn, session.speaker):
            if task is not None:
                task.cancel()
        del self._sessions[session.id]
        if self._stored is not None:
            self._stored.pop(session.id, None)
        return s.CloseSessionResponse()

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise _unknown(session_id)
        return session

    def _update(self, session_id: str, update: s.SessionUpdate) -> None:
        self._connection.tell("session/update", s.SessionNotification(session_id, update))


def _unknown(session_id: str) -> RequestError:
    data = {"sessionId": session_id}
    return RequestError(errors.RESOURCE_NOT_FOUND, "no such session", data)
