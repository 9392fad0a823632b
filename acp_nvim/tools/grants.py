"""Doors, and what tokens open there: the tools of a session each, while it has them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter

import anyio
import msgspec

from acp_nvim.session.session import Session
from acp_nvim.tools.session_tools import SessionTools
from acp_nvim.tools.toolbox import Enabled, Toolbox


class Entrance(msgspec.Struct, frozen=True):
    """What a client needs to get in."""

    address: str
    token: str


class Grant:
    """What a token opens: the tools of a session, and the connections that came with it."""

    def __init__(self, session: Session, tools: SessionTools) -> None:
        """Nobody has come yet."""
        self.session = session
        self.tools = tools
        self.token = os.urandom(32).hex()
        self.connections: set[anyio.CancelScope] = set()

    def tell(self, connected: int) -> None:
        """Let the session know how many clients it has."""
        use = self.session.tools
        if use is not None and use.connected != connected:
            use.connect(connected)
            self.session.change("tools")


class AnyDoor(ABC):
    """Where clients arrive: listens from the first session on that has tools, until `close`."""

    def __init__(self, toolbox: Toolbox) -> None:
        """Nothing listens yet."""
        self._toolbox = toolbox
        self._grants: dict[str, Grant] = {}
        self.refused: Counter[str] = Counter()
        """Clients that were not let in, and faults of those that were, by kind."""

    @abstractmethod
    def _listen(self) -> str:
        """The address; listens from now on. OSError."""

    def admit(self, session: Session, enabled: Enabled) -> Entrance | None:
        """Give a session a new token; its earlier one ends. None: it has no tools. OSError."""
        self.withdraw(session)
        tools = SessionTools(self._toolbox, session, enabled)
        if not tools.has_any():
            return None
        address = self._listen()
        grant = self._grants[session.key] = Grant(session, tools)
        tools.offer()
        return Entrance(address, grant.token)

    def _opened_by(self, token: bytes) -> Grant | None:
        """The grant of that token. How long this takes says nothing of the tokens there are."""
        import hmac  # clients come after the first prompt

        found = None
        for grant in self._grants.values():
            if hmac.compare_digest(token, grant.token.encode()):
                found = grant
        return found

    def refresh(self) -> None:
        """There are other tools than before: sessions are told, and clients that listen."""
        for grant in self._grants.values():
            grant.tools.refresh()

    def withdraw(self, session: Session) -> Grant | None:
        """End the session's token and connections; returns what it opened, if there was one."""
        grant = self._grants.pop(session.key, None)
        if grant is not None:
            grant.tools.changes.close()
            for scope in list(grant.connections):
                scope.cancel()
        return grant

    def close(self) -> None:
        """End all of them."""
        for grant in list(self._grants.values()):
            self.withdraw(grant.session)
