"""Tutor as an agent: handshake, sessions, settings, and a turn for each prompt."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_nvim import __version__
from acp_nvim.protocol import errors
from acp_nvim.protocol import schema as s
from acp_nvim.protocol.errors import RequestError
from acp_nvim.tutor.keys import keys_from
from acp_nvim.tutor.lessons import teach
from acp_nvim.tutor.session import COMMANDS, MODES, PACES, Session
from acp_nvim.tutor.turn import Turn

if TYPE_CHECKING:
    from acp_nvim.tutor.connection import Connection

VERSION = 1


def _new_id() -> str:
    return f"tutor-{secrets.token_hex(6)}"


class Tutor:
    """Tutor for one client."""

    def __init__(self, connection: Connection) -> None:
        self.sessions: dict[str, Session] = {}
        self._connection = connection
        self._shows_cursors = False

    async def request(self, params: Any) -> s.Wire:
        match params:
            case s.InitializeRequest():
                return self._initialize(params)
            case s.NewSessionRequest():
                return self._new_session(params)
            case s.ForkSessionRequest():
                return self._fork(params)
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
        if isinstance(params, s.CancelNotification):
            session = self.sessions.get(params.session_id)
            if session is not None and session.turn is not None:
                session.turn.cancel()

    def on_answered(self, params: Any, result: s.Wire) -> None:
        """Announce the slash commands and cursors once the client knows the session."""
        if isinstance(result, s.NewSessionResponse | s.ForkSessionResponse):
            self._update(result.session_id, s.AvailableCommandsUpdate(list(COMMANDS)))
            for cursor_id in self.sessions[result.session_id].cursors:
                self._announce(result.session_id, cursor_id)

    def _initialize(self, params: s.InitializeRequest) -> s.InitializeResponse:
        client = params.client_capabilities or s.ClientCapabilities()
        self._shows_cursors = bool(client.session and client.session.cursors)
        return s.InitializeResponse(
            VERSION,
            s.AgentCapabilities(
                prompt_capabilities=s.PromptCapabilities(embedded_context=True),
                session_capabilities=s.SessionCapabilities(
                    close=s.SessionCloseCapabilities(), fork=s.SessionForkCapabilities()
                ),
            ),
            auth_methods=[],
            agent_info=s.Implementation("tutor", __version__, "Tutor"),
        )

    def _new_session(self, params: s.NewSessionRequest) -> s.NewSessionResponse:
        keys = keys_from(s.given(params.meta))
        session = Session(_new_id(), Path(params.cwd), keys)
        for earlier in self.sessions.values():
            if earlier.cwd == session.cwd and earlier.step:
                session.step, session.is_step_unfinished = earlier.step, True
        self.sessions[session.id] = session
        return s.NewSessionResponse(session.id, session.modes(), session.options())

    def _fork(self, params: s.ForkSessionRequest) -> s.ForkSessionResponse:
        """Fork a session at its end, or at one of its cursors."""
        session = self._session(params.session_id)
        if params.cursor_id:
            if params.cursor_id not in session.cursors:
                raise RequestError(errors.INVALID_PARAMS, f"no cursor {params.cursor_id!r}")
            session = session.cursors[params.cursor_id].session
        fork = replace(
            session, id=_new_id(), cwd=Path(params.cwd), turn=None, cursors=dict(session.cursors)
        )
        self.sessions[fork.id] = fork
        return s.ForkSessionResponse(fork.id, fork.modes(), fork.options())

    async def _prompt(self, params: s.PromptRequest) -> s.PromptResponse:
        session = self._session(params.session_id)
        if session.turn is not None:
            raise RequestError(errors.INVALID_REQUEST, "a turn of this session is running")
        turn = Turn(self._connection, session, params.prompt)
        session.turn = asyncio.create_task(self._run(turn))
        try:
            return await session.turn
        except asyncio.CancelledError:  # by `$/cancel_request`, or the client is gone
            session.turn.cancel()
            await asyncio.wait([session.turn])
            return s.PromptResponse("cancelled")
        finally:
            session.turn, session.turn_ended_at = None, time.monotonic()

    async def _run(self, turn: Turn) -> s.PromptResponse:
        try:
            reason = await teach(turn)
        except asyncio.CancelledError:
            reason = "cancelled"
        if turn.anchor is not None:
            self._announce(turn.session.id, turn.session.keep(turn.anchor))
        return s.PromptResponse(reason)

    def _announce(self, session_id: str, cursor_id: str) -> None:
        """Offer a fork at a cursor to a client that knows cursors (rfds/session-cursors)."""
        if self._shows_cursors and session_id in self.sessions:
            anchor = self.sessions[session_id].cursors[cursor_id].anchor
            can_fork = s.CursorCapabilities(s.CursorForkCapabilities())
            self._update(session_id, s.CursorUpdate(cursor_id, can_fork, anchor))

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
                message = f"no option {name!r} with a value {value!r}"
                raise RequestError(errors.INVALID_PARAMS, message)
        return s.SetSessionConfigOptionResponse(session.options())

    def _enter(self, session: Session, mode: str) -> None:
        if mode not in {known.id for known in MODES}:
            raise RequestError(errors.INVALID_PARAMS, f"no mode {mode!r}")
        session.mode = mode
        self._update(session.id, s.CurrentModeUpdate(mode))

    def _close(self, params: s.CloseSessionRequest) -> s.CloseSessionResponse:
        session = self._session(params.session_id)
        if session.turn is not None:
            session.turn.cancel()
        del self.sessions[session.id]
        return s.CloseSessionResponse()

    def _session(self, session_id: str) -> Session:
        session = self.sessions.get(session_id)
        if session is None:
            data = {"sessionId": session_id}
            raise RequestError(errors.RESOURCE_NOT_FOUND, "no such session", data)
        return session

    def _update(self, session_id: str, update: s.SessionUpdate) -> None:
        self._connection.notify("session/update", s.SessionNotification(session_id, update))
