"""When a turn is over for what changes: at once, whatever there is to do then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from acp_nvim.session.session import Session
from acp_nvim.workspace.disk_changes import DiskChanges
from acp_nvim.workspace.turns import Turns
from acp_nvim.workspace.workspace import Workspace


async def nobody(_: Any) -> None:
    """Hears where turns run."""


async def test_what_changes_after_the_answer_is_the_users_from_the_first_moment() -> None:
    session, closed = Session(1, "agent", "/"), []
    turns = Turns(nobody)
    turn = turns.enter(session)

    async def later(*_: Any) -> None:
        closed.append(turn.closed)

    review = SimpleNamespace(
        disk=SimpleNamespace(turns=turns),
        _amends=SimpleNamespace(ended=later),
        _briefly=later,
        _end=None,
        _open_checkpoints={},
    )
    await Workspace.turn_ended(cast(Any, review), session)
    assert closed[0] > turn.began
    assert closed == [turn.closed] * 2


async def test_a_turn_that_goes_on_with_another_prompt_is_not_closed() -> None:
    turns = Turns(nobody)
    session = Session(1, "agent", "/")
    turn = turns.enter(session)
    assert turns.enter(session) is turn
    turn.answered()
    assert not turn.closed
    turn.answered()
    assert turn.closed


async def test_a_turn_is_over_after_the_look_that_follows_its_last_prompt() -> None:
    """Also where the look after its first prompt takes longer than the second prompt."""
    turns = Turns(nobody)
    disk = cast(Any, SimpleNamespace(turns=turns, _tasks=SimpleNamespace(start_soon=id)))
    session = Session(1, "agent", "/")
    turn = turns.enter(session)
    turn.answered()
    turns.enter(session)
    turn.answered()
    DiskChanges.leave(disk, session)
    assert turns.get(session) is turn
    DiskChanges.leave(disk, session)
    assert turns.get(session) is None
