"""Restoration of the sessions of an earlier host.

Neovim keeps their chats and their state. The next prompt starts the agent, which resumes or loads
the session. If that fails, a new session is opened and the chat says why. Pending edits and
checkpoints, including those of closed sessions, are in the journal
(`files/journal/persistence.py`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from acp_nvim.agent.opening.initial_options import InitialOptions
from acp_nvim.agent.opening.origin import NEW, Origin
from acp_nvim.agent.prompts.comments import comment_from
from acp_nvim.app import Host
from acp_nvim.features.sessions import words
from acp_nvim.session import ids
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Past

GRACE_NS: Final = 1_500_000_000
"""Longest time that an agent runs after its host was killed (`agent/child/reaper.py`)."""


class SessionRecord(msgspec.Struct, frozen=True):
    """Neovim's record of a session of an earlier host (`acp.features.sessions.restore`)."""

    n: int
    agent: str
    cwd: str
    lines: list[str]
    id: str = ""
    title: str | None = None
    topic: str = ""
    preset: str | None = None
    mode: str | None = None
    options: dict[str, str | bool] = msgspec.field(default_factory=dict)
    error: str | None = None
    cut: bool = False
    """Whether a turn was interrupted."""
    closed: bool = False
    """Whether the user closed the session. It may still have edits and checkpoints."""


def restore_sessions(host: Host, record: Mapping[str, Any]) -> None:
    """Restore the sessions of the previous host from Neovim's record.

    Its keys: `instance` is the key of this Neovim, `run` the number of this host, `sessions`
    the records of sessions, `current` the number of the current one. `elsewhere` contains the
    numbers of other Neovims' sessions by key. `roots` are the workspaces that were in use,
    `shown` the files with marks. `remarks` and `notes` belong to the next prompt. `died` is
    the time at which the host ended, in seconds since 1970, and `sent` the file of
    `features/prompts/sent.py`.
    """
    ids.begin(int(record["run"]))
    persistence, again = host.workspace.persistence, int(record["run"]) > 1
    _begin_journal(host, record.get("instance"))
    host.foreign_sessions.set_numbers(record.get("elsewhere") or {})
    records = [_decode_record(table) for table in record["sessions"]]
    sessions = [_create_session(host, record) for record in records]
    current = record.get("current")
    if current in host.sessions.conversations:
        host.sessions.make_current(current)
    roots = dict.fromkeys((*(record.get("roots") or ()), *(record.cwd for record in records)))
    paths = [path for root in roots for path in persistence.open(root, again=again)]
    _restore_remarks(host, record)
    for session in sessions:
        persistence.resume(session)
    if any(record.cut for record in records):
        host.files.turns.on_crash(int((record.get("died") or 0) * 1e9 + GRACE_NS))
    if again or paths:
        host.tasks.start_soon(host.workspace.resume, paths, list(record.get("shown") or []))


def _begin_journal(host: Host, instance: str | None) -> None:
    data = host.settings().stdpath.get("data")
    if data and instance:
        host.workspace.persistence.begin(Path(data), str(instance))


def _decode_record(table: Mapping[str, Any]) -> SessionRecord:
    """Decode the record of a session. Lua sends an empty table as a list."""
    return msgspec.convert({**table, "options": table.get("options") or {}}, SessionRecord)


def _restore_remarks(host: Host, record: Mapping[str, Any]) -> None:
    """Restore the user's remarks that have not been sent to an agent."""
    ledger, remarks = host.workspace.files.ledger, []
    for args in record.get("remarks") or ():
        path = os.path.realpath(str(args["path"]))
        remarks.append(comment_from(args, path, ledger.get(path)))
    host.comments.restore(remarks, record.get("notes") or ())


def _create_session(host: Host, record: SessionRecord) -> Session:
    """Create a session from its record. Its status is `failed`, or `closed` if it was closed."""
    chosen = InitialOptions(record.mode, record.options, is_configured=False)
    origin = Origin("reopen", record.id, chosen)
    shown = Past(record.lines) if any(record.lines) else None
    directories = host.sessions.directories(record.cwd)
    session = Session(record.n, record.agent, record.cwd, directories, host.observer)
    session.id, session.title, session.preset = record.id, record.title, record.preset
    session.topic = record.topic
    session.status = "closed" if record.closed else "failed"
    session.error = record.error
    host.sessions.add(session, origin if record.id else NEW, shown)
    if shown is not None:
        host.transcripts.follow(session, 1)
    if record.cut:
        session.notice("error", record.error or words.TURN_CUT)
    return session
