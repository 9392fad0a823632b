"""Fork of a session at an earlier point: a cursor or a message from the agent.

The protocol has a field only for the cursor (rfds/session-cursors). For a message, some agents read
`_meta`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypedDict

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.opening.origin import ForkPoint

_AIR: Final = {"codex-acp": (1, 0), "claude-agent-acp": (0, 76)}
"""First versions of agents that read `_meta.jetbrains.air.fork` by default."""


class Arguments(TypedDict, total=False):
    """Arguments of `Agent.fork_session` for a point."""

    cursor_id: str
    meta: Mapping[str, Any]


def arguments(agent: Agent, point: ForkPoint) -> Arguments:
    """Return the arguments for a fork at a point, or none if the agent cannot fork there."""
    if not agent.session_capabilities.fork:
        return {}
    if point.cursor is not None:
        return {"cursor_id": point.cursor}
    meta = _meta(agent, point.message_id) if point.message_id else {}
    return {"meta": meta} if meta else {}


def _meta(agent: Agent, message_id: str) -> dict[str, Any]:
    """Return the `_meta` for a fork that ends with the turn of an agent message.

    It is empty if the agent cannot fork at a message.
    """
    capabilities = agent.capabilities.meta
    claude = capabilities.get("claudeCode") if isinstance(capabilities, Mapping) else None
    if isinstance(claude, Mapping) and claude.get("rewind") is True:
        return {"claudeCode": {"rewindTo": message_id}}
    if _supports_air_fork(agent):
        return {"jetbrains": {"air": {"fork": {"version": 1, "messageId": message_id}}}}
    return {}


def _supports_air_fork(agent: Agent) -> bool:
    if agent.info is None:
        return False
    since = _AIR.get(agent.info.name.rpartition("/")[2])
    version = re.match(r"(\d+)\.(\d+)", agent.info.version or "")
    if since is None or version is None:
        return False
    return (int(version[1]), int(version[2])) >= since
