"""Tutor of a server, whose sessions outlive connections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from acp_nvim.protocol import schema as s
from acp_nvim.tutor.agent import Tutor
from acp_nvim.tutor.session import Session

if TYPE_CHECKING:
    from acp_nvim.tutor.connection import Connection


class SharedTutor(Tutor):
    """Tutor that can resume sessions of other connections, and of an earlier server."""

    def __init__(self, connection: Connection, stored: dict[str, Session]) -> None:
        super().__init__(connection)
        self._stored = stored

    async def request(self, params: Any) -> s.Wire:
        if isinstance(params, s.ResumeSessionRequest):
            return self._resume(params)
        result = await super().request(params)
        match result:
            case s.InitializeResponse(agent_capabilities=s.AgentCapabilities() as known):
                return msgspec.structs.replace(result, agent_capabilities=_with_resume(known))
            case s.NewSessionResponse():
                self._stored[result.session_id] = self.sessions[result.session_id]
            case s.CloseSessionResponse():
                self._stored.pop(params.session_id, None)
        return result

    def _resume(self, params: s.ResumeSessionRequest) -> s.ResumeSessionResponse:
        session = self._stored.get(params.session_id)
        session = session or Session(params.session_id, Path(params.cwd))
        if session.turn is not None:
            session.turn.cancel()  # of a connection that broke
        self.sessions[session.id] = self._stored[session.id] = session
        return s.ResumeSessionResponse(modes=session.modes(), config_options=session.options())


def _with_resume(known: s.AgentCapabilities) -> s.AgentCapabilities:
    sessions = s.given(known.session_capabilities) or s.SessionCapabilities()
    sessions = msgspec.structs.replace(sessions, resume=s.SessionResumeCapabilities())
    return msgspec.structs.replace(known, session_capabilities=sessions)
