"""Forking a session at one of its messages, which the protocol has no field for yet
(rfds/session-fork): the `_meta` that agents read for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from acp_nvim.agent.agent import Agent

_AIR: Final = {"codex-acp": (1, 0), "claude-agent-acp": (0, 76)}
"""Agents that read `_meta.jetbrains.air.fork` without being asked to, from these versions on."""


def offered(agent: Agent) -> bool:
    """Whether the agent forks a session at a message."""
    return bool(meta(agent, "-"))


def meta(agent: Agent, message_id: str) -> dict[str, Any]:
    """Return the `_meta` of a `session/fork` whose history ends with the turn of the agent's
    message of that id; nothing where the agent would fork all of it.
    """
    if not agent.session_capabilities.fork:
        return {}
    claude = _meta_of(agent).get("claudeCode")
    if isinstance(claude, Mapping) and claude.get("rewind") is True:
        return {"claudeCode": {"rewindTo": message_id}}
    if _reads_air(agent):
        return {"jetbrains": {"air": {"fork": {"version": 1, "messageId": message_id}}}}
    return {}


def _meta_of(agent: Agent) -> Mapping[str, Any]:
    found = agent.capabilities.meta
    return found if isinstance(found, Mapping) else {}


def _reads_air(agent: Agent) -> bool:
    if agent.info is None:
        return False
    since = _AIR.get(agent.info.name.rpartition("/")[2])
    version = re.match(r"(\d+)\.(\d+)", agent.info.version or "")
    if since is None or version is None:
        return False
    return (int(version[1]), int(version[2])) >= since
