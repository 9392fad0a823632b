"""Prompts that a session had before this process.

Their numbers and checkpoints are in the journal, their transcript is in the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from acp_nvim.agent.observers import TurnStart
from acp_nvim.files.workspace import Workspace
from acp_nvim.host.history import History
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Message

if TYPE_CHECKING:
    from acp_nvim.history.search import StoredSession


class EarlierPrompts(Struct, frozen=True, eq=False):
    """Earlier prompts of all sessions of a host."""

    workspace: Workspace[Session]
    history: History
    sessions: Callable[[], Iterable[Session]]

    # -- numbers and checkpoints ------------------------------------------------------------------

    def on_opened(self, session: Session, origin_id: str) -> None:
        """Number the earlier prompts of a session, unless the agent replays them later."""
        if origin_id:
            self.number_prompts(session, origin_id)

    async def on_turn_starting(self, turn: TurnStart) -> None:
        """Number the earlier prompts that a late replay has shown."""
        self.on_opened(turn.session, turn.origin_id)

    def number_prompts(self, session: Session, agent_id: str, key: str = "") -> None:
        """Number the prompts in the chat of a continued session, and take over their checkpoints.

        It continues the agent's session ``agent_id``, or the session ``key`` in the journal. Do
        nothing if it already has numbered prompts.
        """
        rewind = self.workspace.rewind
        if rewind.last(session):
            return
        from acp_nvim.session.prompt_numbers import counted, prompts_in, recognized

        announced = session.announced[1] if session.announced is not None else None
        prompts = prompts_in(it for it in session.transcript.entries if it is not announced)
        if not prompts:
            return
        self.workspace.open(session.cwd)
        earlier = self._earlier(session, agent_id, key)
        labels = rewind.labels(earlier) if earlier is not None else {}
        known = recognized(prompts, labels)
        numbers = counted(known)
        for run, number in zip(prompts, numbers, strict=True):
            session.transcript.number(run[0], number)
        last = max((number for number in numbers if number is not None), default=0)
        rewind.continue_session(
            session, last, earlier, {number for number in known if number is not None}
        )
        self.workspace.persistence.touch()

    def _earlier(self, session: Session, agent_id: str, key: str) -> int | None:
        """Return the number of the continued session. Of several, it has the latest checkpoint."""
        keys, checkpoints = self.workspace.persistence.keys, self.workspace.rewind.checkpoints
        same = (session.agent, agent_id)
        found = {it.n for it in self.sessions() if agent_id and (it.agent, it.id) == same}
        found |= set(keys.others(*same)) if agent_id else set()
        if key in keys.infos:
            found.add(keys.number(key))
        made = {n: checkpoints.of(n)[-1].time for n in found if checkpoints.of(n)}
        made.pop(session.n, None)
        return max(made, key=lambda n: made[n], default=None)

    # -- transcripts ------------------------------------------------------------------------------

    async def recall(self, session: Session) -> Session:
        """Return the session, or one with the stored transcript if its chat lacks earlier prompts.

        Raise `UnreadableError`.
        """
        stored = await self.stored_session(session) if self._is_incomplete(session) else None
        if stored is None:
            return session
        from acp_nvim.session.prompt_numbers import counted, prompts_in, recognized
        from acp_nvim.session.transcript.restored import unseen

        entries = await self.history.read("entries", stored.id) or ()
        found = unseen(session.agent, session.cwd, entries)
        prompts = prompts_in(found.transcript.entries)
        labels = self.workspace.rewind.labels(session.n)
        for run, number in zip(prompts, counted(recognized(prompts, labels)), strict=True):
            found.transcript.number(run[0], number)
        return found if len(prompts) > len(prompts_in(session.transcript.entries)) else session

    def _is_incomplete(self, session: Session) -> bool:
        messages = (it for it in session.transcript.entries if isinstance(it, Message))
        known = {message.prompt for message in messages}
        last = self.workspace.rewind.last(session)
        return last == 0 or not known.issuperset(range(1, last + 1))

    async def stored_session(self, session: Session) -> StoredSession | None:
        """Return the record of a session, of any Neovim, in the history. Raise UnreadableError."""
        keys = self.workspace.persistence.keys
        key = keys.key(session.n)
        agent_id = session.id or (keys.infos[key].id if key in keys.infos else "")
        stored: StoredSession | None = await self.history.read(
            "session_of", key, session.agent, agent_id
        )
        return stored
