"""Worktrees: sessions in their own git worktrees. Their results land in the user's tree."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from acp_nvim.agent.observers import TurnStart
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.app import Host
    from acp_nvim.features.worktrees.landing import Landing
    from acp_nvim.features.worktrees.worktrees import Worktrees


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.worktrees.verbs", "new_worktree", "land")
    app.verbs.add(
        "acp_nvim.features.worktrees.race", "race", "race_compare", "race_take", "race_end"
    )
    app.observers.stops.append(partial(_stop, app))
    app.observers.on_session_added.append(partial(_on_session_added, app))
    app.conversation_observers.on_turn_starting.append(partial(_on_turn_starting, app))
    app.conversation_observers.on_agent_left.append(partial(_on_agent_left, app))


def parts(app: Host) -> tuple[Worktrees, Landing]:
    """Return the parts of this feature, which are made when they are first needed."""
    from acp_nvim.features.worktrees.landing import Landing
    from acp_nvim.features.worktrees.worktrees import Worktrees

    worktrees = app.parts.get(Worktrees, lambda: Worktrees(app))
    return worktrees, app.parts.get(Landing, lambda: Landing(app, worktrees))


def _on_session_added(app: Host, session: Session) -> None:
    folder = app.options.data_file("worktrees")
    if folder is not None and folder.is_dir():
        parts(app)[0].show(session)


def _stop(app: Host, session: Session) -> bool:
    return session.worktree is not None and parts(app)[0].stop_setup(session)


async def _on_turn_starting(app: Host, turn: TurnStart) -> None:
    if turn.session.worktree is not None:
        await parts(app)[0].on_turn_starting(turn)


def _on_agent_left(app: Host, session: Session) -> None:
    if session.worktree is not None:
        worktrees, landing = parts(app)
        worktrees.on_left(session)
        if session.status == "closed":
            app.tasks.start_soon(landing.on_closed, session)
