"""Sessions by number: root sessions, subagents, sessions of other Neovims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from acp_nvim import wording
from acp_nvim.agent.notify import notify
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.files.ports import SessionInfo
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.session import Session
from acp_nvim.session.subagents import Child, child_of
from acp_nvim.session.transcript.entries import Subagent


class SessionList:
    """Root sessions of a host, including closed ones."""

    def __init__(self) -> None:
        self.by_number: dict[int, Session] = {}
        self.current: int | None = None
        """Number of the session for commands without a number."""
        self.cwd = str(Path.home())
        """The user's last working directory, in which agents are started."""
        self._next = 1

    def make_current(self, n: int) -> None:
        self.current = n

    def work_in(self, cwd: str) -> None:
        self.cwd = cwd

    def add(self, session: Session) -> None:
        self.by_number[session.n] = session

    def next_number(self) -> int:
        """Return a new number for a session or a subagent."""
        self._next += 1
        return self._next - 1

    def skip_to(self, n: int) -> None:
        """Make the next number at least `n`."""
        self._next = max(self._next, n)

    def get(self, n: int) -> Session:
        return self.by_number[n]

    def all(self) -> list[Session]:
        return list(self.by_number.values())

    def current_session(self) -> Session | None:
        return None if self.current is None else self.by_number.get(self.current)


class SubagentRegistry:
    """Sessions of subagents by number."""

    def __init__(self, screen: Screen, sessions: SessionList) -> None:
        self._screen = screen
        self._sessions = sessions

    def child(self, parent: Session, session_id: str) -> Session:
        """Return the child with this id. Create it if its parent has not named it before."""
        return child_of(parent, session_id, self._new)

    def _new(self, parent: Session, link: Subagent) -> Child:
        child = Child(self._sessions.next_number(), parent, link)
        self._screen.add(child)
        return child

    def get(self, n: object) -> Child | None:
        """Return the child with that number, or None."""
        session = self._screen.sessions.get(n) if isinstance(n, int) else None
        return session if isinstance(session, Child) else None

    def root(self, n: int) -> int:
        """Return the number of the root session of a session."""
        session = self._screen.sessions.get(n)
        return session.root.n if session is not None else n

    def cancel(self, child: Child, conversation: Conversation) -> str:
        """Cancel only this subagent, if its agent supports that. Return a message for the user."""
        connection = conversation.connection
        if not child.link.cancellable or connection is None or not connection.is_alive:
            return wording.SUBAGENT_NOT_CANCELLABLE.format(
                subagent=child.link.label, session=child.root.n
            )
        child.cancel_asked()
        connection.agent.cancel(child.id)
        return wording.SUBAGENT_CANCELLED.format(subagent=child.link.label)


class ForeignSessions:
    """Sessions of other or earlier Neovims that have edits or checkpoints (port `OtherSessions`).

    The state lists them as closed sessions. The user can accept or reject their edits here.
    """

    def __init__(self, screen: Screen, sessions: SessionList) -> None:
        self.on_found: list[Callable[[SessionInfo, int], None]] = []
        """Observers that add a foreign session as a closed one with the given number."""
        self._screen = screen
        self._sessions = sessions
        self._numbers: dict[str, int] = {}
        """Numbers that sessions had in the previous host, by key."""
        self._foreign: set[int] = set()
        """Numbers of the foreign sessions."""

    def __contains__(self, n: int) -> bool:
        """Return whether the session of that number belongs to another Neovim."""
        return n in self._foreign

    def own(self) -> list[Session]:
        """Return the sessions of this Neovim, including subagents."""
        return [
            session for session in self._screen.sessions.values() if session.n not in self._foreign
        ]

    def set_numbers(self, numbers: Mapping[str, int]) -> None:
        """Set the numbers that these sessions had in the previous host, by key."""
        self._numbers = dict(numbers)

    def number_of(self, key: str, info: SessionInfo) -> int:
        n = self._numbers.get(key) or self._sessions.next_number()
        notify(self.on_found, info, n)
        self._foreign.add(n)
        self._screen.state(["sessions", n, "elsewhere"], key)
        return n

    def follow(self, root: str, folder: str) -> None:
        self._screen.push("follow_journal", root, folder)
