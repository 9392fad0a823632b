"""Names of sessions for all Neovims of a workspace.

Sessions of other Neovims have a number in this process, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from acp_nvim.files.ports import AgentSession, OtherSessions, SessionInfo

UNKNOWN = SessionInfo()


class SessionKeys:
    """Keys `{Neovim}.{number in it}` of sessions, and their numbers in this process."""

    def __init__(self, others: OtherSessions) -> None:
        self.instance = ""
        """Name of this run of Neovim."""
        self.infos: dict[str, SessionInfo] = {}
        """Descriptions of other Neovims' sessions, by key."""
        self._others = others
        self._numbers: dict[str, int] = {}
        """Numbers of other Neovims' sessions, by key."""
        self._keys: dict[int, str] = {}
        """Keys of other Neovims' sessions, by number."""

    def set_instance(self, instance: str) -> None:
        """Set the name of this run of Neovim."""
        self.instance = instance

    def key(self, n: int) -> str:
        return self._keys.get(n) or f"{self.instance}.{n}"

    def number(self, key: str) -> int:
        """Return the number of a session in this process.

        Another Neovim's session gets a new number.
        """
        owner, _, n = key.rpartition(".")
        if owner == self.instance and n.isdigit():
            return int(n)
        if key not in self._numbers:
            assigned = self._others.number_of(key, self.infos.get(key, UNKNOWN))
            self._numbers[key], self._keys[assigned] = assigned, key
        return self._numbers[key]

    def add_info(self, key: str, info: SessionInfo) -> None:
        """Record the description of another Neovim's session."""
        self.infos[key] = info

    def others(self, agent: str, session_id: str) -> list[int]:
        """Return the numbers of other Neovims' sessions that have this id at the agent."""
        same = (agent, session_id)
        keys = [key for key, info in self.infos.items() if (info.agent, info.id) == same]
        return [self.number(key) for key in keys]

    def is_own(self, key: str) -> bool:
        return key.rpartition(".")[0] == self.instance

    def descriptions(
        self, numbers: Iterable[int], sessions: Iterable[AgentSession]
    ) -> dict[str, SessionInfo]:
        """Return the descriptions of these sessions for other Neovims, by key."""
        ours = {session.n: session for session in sessions}
        descriptions: dict[str, SessionInfo] = {}
        for n in numbers:
            key, session = self.key(n), ours.get(n)
            if not self.is_own(key):
                descriptions[key] = self.infos.get(key, UNKNOWN)
            elif session is not None:
                descriptions[key] = info_of(session)
        return descriptions


def info_of(session: AgentSession) -> SessionInfo:
    """Return the description of a session for other Neovims."""
    return SessionInfo(
        session.agent,
        session.title or "",
        session.cwd,
        list(session.directories),
        session.id,
    )
