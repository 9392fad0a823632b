"""Prompts that a session had before this process.

Their numbers and checkpoints are in the journal, their transcript is in the history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.app import Host
from acp_nvim.session.prompt_numbers import fill_gaps, prompts_in, recognize_numbers
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Message
from acp_nvim.session.transcript.restored import hidden_session

if TYPE_CHECKING:
    from acp_nvim.history.search import StoredSession


def number_prompts(host: Host, session: Session, agent_id: str, key: str = "") -> None:
    """Number the prompts in the chat of a continued session, and adopt their checkpoints.

    The session continues the agent's session `agent_id`, or the session `key` in the journal. Do
    nothing if it already has numbered prompts.
    """
    numbered = host.workspace.prompts
    if numbered.last(session):
        return
    announced = session.announced[1] if session.announced is not None else None
    prompts = prompts_in(entry for entry in session.transcript.entries if entry is not announced)
    if not prompts:
        return
    host.workspace.open(session.cwd)
    earlier = _continued_session(host, session, agent_id, key)
    labels = numbered.labels(earlier) if earlier is not None else {}
    known = recognize_numbers(prompts, labels)
    numbers = fill_gaps(known)
    for run, number in zip(prompts, numbers, strict=True):
        session.transcript.set_prompt_number(run[0], number)
    last = max((number for number in numbers if number is not None), default=0)
    numbered.continue_session(
        session, last, earlier, {number for number in known if number is not None}
    )
    host.workspace.persistence.request_exchange()


def _continued_session(host: Host, session: Session, agent_id: str, key: str) -> int | None:
    """Return the number of the session that is continued, or None if there is none.

    If several sessions match, return the one with the latest checkpoint.
    """
    keys, checkpoints = host.workspace.persistence.keys, host.files.checkpoints
    same = (session.agent, agent_id)
    candidates = {
        other.n for other in host.session_list.all() if agent_id and (other.agent, other.id) == same
    }
    candidates |= set(keys.others(*same)) if agent_id else set()
    if key in keys.infos:
        candidates.add(keys.number(key))
    times = {n: checkpoints.of(n)[-1].time for n in candidates if checkpoints.of(n)}
    times.pop(session.n, None)
    return max(times, key=lambda n: times[n], default=None)


async def with_transcript(host: Host, session: Session) -> Session:
    """Return the session, or one with the stored transcript if its chat lacks earlier prompts.

    Raise `UnreadableError`.
    """
    stored = await stored_session(host, session) if _is_incomplete(host, session) else None
    if stored is None:
        return session
    entries = await host.transcripts.read("entries", stored.id) or ()
    candidates = hidden_session(session.agent, session.cwd, entries)
    prompts = prompts_in(candidates.transcript.entries)
    labels = host.workspace.prompts.labels(session.n)
    for run, number in zip(prompts, fill_gaps(recognize_numbers(prompts, labels)), strict=True):
        candidates.transcript.set_prompt_number(run[0], number)
    return candidates if len(prompts) > len(prompts_in(session.transcript.entries)) else session


def _is_incomplete(host: Host, session: Session) -> bool:
    """Return whether the chat lacks prompts of the session, or their number is unknown."""
    messages = (entry for entry in session.transcript.entries if isinstance(entry, Message))
    shown = {message.prompt for message in messages}
    last = host.workspace.prompts.last(session)
    return last == 0 or not shown.issuperset(range(1, last + 1))


async def stored_session(host: Host, session: Session) -> StoredSession | None:
    """Return the history's record of a session, whichever Neovim ran it.

    Raise `UnreadableError`.
    """
    keys = host.workspace.persistence.keys
    key = keys.key(session.n)
    agent_id = session.id or (keys.infos[key].id if key in keys.infos else "")
    stored: StoredSession | None = await host.transcripts.read(
        "session_of", key, session.agent, agent_id
    )
    return stored
