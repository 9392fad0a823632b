"""File with the sessions of one Neovim, read by the overviews of others.

It contains no text of questions and prompts beyond titles. `lua/acp/features/overview/others.lua`
reads it, and ignores it once the process of this host has ended.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio import to_thread

from acp_nvim.agent.wire.redact import Redactor
from acp_nvim.files.bytes import private_files
from acp_nvim.protocol.text import clean
from acp_nvim.session import index, snapshot
from acp_nvim.session.session import Session


class SharedSession(msgspec.Struct, frozen=True, omit_defaults=True):
    """Session as other Neovims see it. Times are in seconds since 1970."""

    n: int
    agent: str
    cwd: str
    status: str
    since: int
    preset: str | None = None
    title: str = ""
    questions: int = 0
    asked: int = 0
    """Time of the oldest question."""
    queued: int = 0
    hunks: int = 0
    files: int = 0
    cost: dict[str, Any] | None = None


class _File(msgspec.Struct, frozen=True):
    instance: str
    host: int
    """Process id of the host."""
    sessions: list[SharedSession]


def file_of(state: str, instance: str) -> Path:
    """Return the path of a Neovim's file below `stdpath('state')`."""
    return Path(state) / "acp" / "neovims" / f"{instance}.json"


def describe(session: Session) -> SharedSession:
    """Return a session's description for other Neovims."""
    asked = [decision.since for decision in session.decisions]
    return SharedSession(
        n=session.n,
        agent=session.agent,
        cwd=session.cwd,
        status=session.status,
        since=session.since,
        preset=session.preset,
        title=index.title(Redactor(is_quick=True).text(session.title or session.topic)),
        questions=len(asked),
        asked=min(asked, default=0),
        queued=len(session.queue) + len(session.at_agent),
        hunks=sum(max(edit["hunks"], 1) for edit in session.edits),
        files=len(session.edits),
        cost=(snapshot.usage(session.usage) or {}).get("cost"),
    )


class SharedSessions:
    """File of this Neovim. It exists while a session is open."""

    def __init__(self, path: Path, instance: str) -> None:
        self._path = path
        self._instance = instance
        self._lock = anyio.Lock()
        self._written = b""

    async def write(self, sessions: Iterable[Session]) -> None:
        """Write the open sessions, if they have changed since the last write."""
        async with self._lock:
            listed = [
                describe(session)
                for session in sessions
                if session.root is session and session.status != "closed"
            ]
            data = msgspec.json.encode(clean(_File(self._instance, os.getpid(), listed)))
            if not listed:
                await self._remove()
            elif data != self._written:
                await to_thread.run_sync(_write, self._path, data)
                self._written = data

    async def remove(self) -> None:
        """Remove the file that lists this process's sessions."""
        async with self._lock:
            await self._remove()

    async def _remove(self) -> None:
        if self._written:
            await to_thread.run_sync(_unlink, self._path)
            self._written = b""


def _write(path: Path, data: bytes) -> None:
    private_files.write(path, data, sync=False)


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)
