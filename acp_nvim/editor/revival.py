"""Sessions outlive the process of the plugin: Neovim has their chats and what the snapshot told of
them, and the next process takes them up where they stand. Their agents are started by the next
prompt; the sessions are resumed then, or loaded, or new ones with the reason stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from acp_nvim.agent.opening import NEW, Origin
from acp_nvim.agent.wanted import Wishes
from acp_nvim.editor.host import Host
from acp_nvim.session import ids
from acp_nvim.session.entries import Past
from acp_nvim.session.session import Session


class Left(msgspec.Struct, frozen=True):
    """What Neovim knows of a session that was open when its process went (`lua/acp/past.lua`)."""

    n: int
    agent: str
    cwd: str
    lines: list[str]
    id: str = ""
    title: str | None = None
    mode: str | None = None
    options: dict[str, str | bool] = msgspec.field(default_factory=dict)
    error: str | None = None
    cut: bool = False
    """A turn ran."""


def revive(host: Host, past: Mapping[str, Any]) -> None:
    """Take up the sessions of the process before this one: `{run, sessions, current}`."""
    ids.begin(int(past["run"]))
    for record in past["sessions"]:
        left = msgspec.convert({**record, "options": record.get("options") or {}}, Left)
        origin = Origin("again", left.id, Wishes(left.mode, left.options, named=False))
        shown = Past(left.lines) if any(left.lines) else None
        session = Session(left.n, left.agent, left.cwd)
        session.id, session.title = left.id, left.title
        session.status, session.error = "failed", left.error
        host.take_up(session, origin if left.id else NEW, shown)
        if left.cut:
            session.remark("error", left.error or "the turn was cut")
    current = past.get("current")
    if current in host.conversations:
        host.make_current(current)
