"""Observers and other objects that features add to a host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from msgspec import Struct, field

from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify
from acp_nvim.edits.pending import Pending
from acp_nvim.render.batch import Op
from acp_nvim.session.session import Session
from acp_nvim.tools.server.toolbox import ToolList

Resume: TypeAlias = Callable[[], None]
P = TypeVar("P")
"""Type of an object that a feature adds."""


class HostObservers(Struct, frozen=True, eq=False):
    """Lists of observers of a host.

    Observers of connections and conversations are in `agent/observers.py` and
    `agent/surroundings.py`.
    """

    on_frame: list[Callable[[], None]] = field(default_factory=list)
    """The next frame is about to be collected."""
    frame_producers: list[Callable[[int], tuple[list[Op], bool]]] = field(default_factory=list)
    """Functions that are called for each frame with its budget in characters.

    Each returns the operations to append, and whether it has more for the next frame.
    """
    tool_lists: list[ToolList] = field(default_factory=list)
    """Lists of the editor's tools."""
    on_setup: list[Callable[[dict[str, Any]], None]] = field(default_factory=list)
    """The options are set. Called with the arguments of the verb `setup`."""
    hunk_titles: list[Callable[[Pending], Sequence[str]]] = field(default_factory=list)
    """Functions that return the titles of a file's pending hunks.

    The result is empty if no hunk has a title. Otherwise it has a text, maybe empty, for each hunk.
    """
    on_file_read: list[Callable[[Session, str], None]] = field(default_factory=list)
    """The agent of a session reads a file through the editor."""
    on_login_needed: list[Callable[[Connection, Resume | None], None]] = field(default_factory=list)
    """An agent refuses a request because it requires a login. The function, if any, retries it."""
    on_login_awaited: list[Callable[[str, Resume], None]] = field(default_factory=list)
    """An action waits for a login to the named agent. The function resumes the action.

    The user has already been told that a login is required.
    """
    on_agent_restarted: list[Callable[[str], None]] = field(default_factory=list)
    """The user has restarted the named agent, and it is ready."""
    on_continued: list[Callable[[Session, str, str], None]] = field(default_factory=list)
    """A new chat begins with a stored transcript.

    Called with the id of the stored session at its agent, and its key in the journal.
    """
    on_session_added: list[Callable[[Session], None]] = field(default_factory=list)
    """A session was created or restored."""
    stops: list[Callable[[Session], bool]] = field(default_factory=list)
    """Functions that stop the host's own work for a session when the user cancels.

    Each returns whether there was any work.
    """
    on_closing: list[Callable[[], None]] = field(default_factory=list)
    """Neovim has ended. Agents are ended next."""
    on_exit: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)
    """All tasks have ended. Called while agents are being ended, and awaited."""
    on_closed: list[Callable[[], None]] = field(default_factory=list)
    """All agents have ended."""
    on_processes_ended: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    """All processes of agents have ended. Neovim may kill the host 2 s after its own end."""

    def next_frame(self, budget: int) -> tuple[list[Op], bool]:
        """Return the operations of a frame, and whether there are more."""
        notify(self.on_frame)
        ops, more = list[Op](), False
        for produce in self.frame_producers:
            frame, waits = produce(budget)
            ops += frame
            more = more or waits
        return ops, more

    def file_read(self, session: Session, path: str) -> None:
        """Report that the agent of a session reads a file through the editor."""
        notify(self.on_file_read, session, path)

    def session_added(self, session: Session) -> None:
        """Report that a session was created or restored."""
        notify(self.on_session_added, session)

    def agent_restarted(self, agent: str) -> None:
        """Report that an agent is ready again after a restart."""
        notify(self.on_agent_restarted, agent)

    def stop_work(self, session: Session) -> bool:
        """Stop the host's own work for a session. Return whether there was any."""
        return sum(stop(session) for stop in self.stops) > 0

    def titles(self, entry: Pending) -> Sequence[str]:
        """Return a title for each hunk of a file, or an empty sequence if no hunk has one."""
        return next(filter(None, (titles(entry) for titles in self.hunk_titles)), ())


class Parts:
    """Objects that features add to a host, by type."""

    def __init__(self) -> None:
        self._parts: dict[type, Any] = {}

    def add(self, part: object, kind: type | None = None) -> None:
        """Add an object under its type, or under its base class `kind`."""
        self._parts[kind or type(part)] = part

    def get(self, kind: type[P], make: Callable[[], P] | None = None) -> P:
        """Return the object of this type, made by `make` if none was added."""
        if kind not in self._parts and make is not None:
            self._parts[kind] = make()
        return cast("P", self._parts[kind])
