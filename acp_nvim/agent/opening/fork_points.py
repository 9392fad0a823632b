"""Forking a session at one of its messages.

The protocol has no field for the message yet (rfds/session-fork), so this builds the `_meta` that
some agents read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from acp_nvim.agent.agent import Agent

_AIR: Final = {"codex-acp": (1, 0), "claude-agent-acp": (0, 76)}
"""Agents that read `_meta.jetbrains.air.fork` by default, from these versions on."""


def can_fork_at_message(agent: Agent) -> bool:
    """Return whether the agent can fork a session at a message."""
    return bool(meta(agent, "-"))


def meta(agent: Agent, message_id: str) -> dict[str, Any]:
    """Return the `_meta` for a `session/fork` that ends with the turn of an agent message.

    It is empty if the agent can only fork the whole session.
    """
    if not agent.session_capabilities.fork:
        return {}
    claude = _meta_of(agent).get("claudeCode")
    if isinstance(claude, Mapping) and claude.get("rewind") is True:
        return {"claudeCode": {"rewindTo": message_id}}
    if _supports_air_fork(agent):
        return {"jetbrains": {"air": {"fork": {"version": 1, "messageId": message_id}}}}
    return {}


def _meta_of(agent: Agent) -> Mapping[str, Any]:
    found = agent.capabilities.meta
    return found if isinstance(found, Mapping) else {}


def _supports_air_fork(agent: Agent) -> bool:
    if agent.info is None:
        return False
    since = _AIR.get(agent.info.name.rpartition("/")[2])
    version = re.match(r"(\d+)\.(\d+)", agent.info.version or "")
    if since is None or version is None:
        return False
    return (int(version[1]), int(version[2])) >= since
