"""What tokens open: the tools of one session each, for as long as that has them."""

from __future__ import annotations

import hmac
import secrets

import anyio

from acp_nvim.session.session import Session
from acp_nvim.tools.session_tools import SessionTools
from acp_nvim.tools.toolbox import Enabled, Toolbox


class Grant:
    """What a token opens: the tools of a session, and the connections that came with it."""

    def __init__(self, session: Session, tools: SessionTools) -> None:
        """Nobody has come yet."""
        self.session = session
        self.tools = tools
        self.token = secrets.token_urlsafe(32)
        self.connections: set[anyio.CancelScope] = set()

    def tell(self, connected: int) -> None:
        """Let the session know how many clients it has."""
        use = self.session.tools
        if use is not None and use.connected != connected:
            use.connect(connected)
            self.session.change("tools")


class Grants:
    """Those of all sessions."""

    def __init__(self, toolbox: Toolbox) -> None:
        """There is none yet."""
        self._toolbox = toolbox
        self._grants: dict[str, Grant] = {}

    def admit(self, session: Session, enabled: Enabled) -> Grant | None:
        """Give a session a new token; its earlier one ends. None: it has no tools. To `offer` them
        is left to those who know where the token is taken.
        """
        self.withdraw(session)
        tools = SessionTools(self._toolbox, session, enabled)
        if not tools.listed():
            return None
        grant = self._grants[session.key] = Grant(session, tools)
        return grant

    def opened_by(self, token: bytes) -> Grant | None:
        """The grant of that token. How long this takes says nothing of the tokens there are."""
        found = None
        for grant in self._grants.values():
            if hmac.compare_digest(token, grant.token.encode()):
                found = grant
        return found

    def refresh(self) -> None:
        """There are other tools than before: sessions are told, and clients that listen."""
        for grant in self._grants.values():
            grant.tools.refresh()

    def withdraw(self, session: Session) -> None:
        """End the session's token and connections."""
        grant = self._grants.pop(session.key, None)
        if grant is not None:
            grant.tools.changes.close()
            for scope in list(grant.connections):
                scope.cancel()

    def close(self) -> None:
        """End all of them."""
        for grant in list(self._grants.values()):
            self.withdraw(grant.session)
