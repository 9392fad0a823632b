"""Checkpoints: rewind to a prompt."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from acp_nvim.agent.observers import TurnStart
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.checkpoints.verbs", "checkpoints", "changes", "restore", "rewind"
    )
    app.conversation_observers.on_opened.append(partial(_on_opened, app))
    app.conversation_observers.on_turn_starting.append(partial(_on_turn_starting, app))
    app.observers.on_continued.append(partial(_on_continued, app))


def _on_opened(app: Host, session: Session, origin_id: str) -> None:
    """Number the earlier prompts of a session, unless the agent replays them later."""
    if origin_id:
        _on_continued(app, session, origin_id)


async def _on_turn_starting(app: Host, turn: TurnStart) -> None:
    """Number the earlier prompts that a late replay has shown."""
    _on_opened(app, turn.session, turn.origin_id)


def _on_continued(app: Host, session: Session, agent_id: str, key: str = "") -> None:
    from acp_nvim.features.checkpoints.earlier_prompts import number_prompts

    number_prompts(app, session, agent_id, key)
