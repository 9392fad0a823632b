"""Diagnostics of proposed edits, on the card of the permission and in the review."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import anyio
import msgspec

from acp_nvim.agent.serving.proposed_edits import (
    ProposedEdits,
    diagnostic_marks,
    has_other_sources,
    proposal_sources,
)
from acp_nvim.agent.settings import Settings
from acp_nvim.nvim.async_calls import AsyncCalls, CallError
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.questions.effects import (
    Diagnostic,
    Effect,
    ServerDiagnostics,
    effect,
    new_words,
)
from acp_nvim.session.questions.proposals import Proposal
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks

MODULE: Final = "acp.buffers.language.proposed"
MAX_FILES: Final = 8
"""Maximum number of files that are checked for one permission."""
MAX_CHARACTERS: Final = 1 << 19
"""Maximum number of characters in a checked text. Servers would take too long for more."""


class _Answer(msgspec.Struct, frozen=True):
    """Diagnostics that Lua returns for one file."""

    opinions: list[ServerDiagnostics] = []
    known: list[Diagnostic] = []


class ProposalCheck:
    """Checks of the proposed edits on all cards.

    Files are checked one at a time, because a server that has two texts of one file might report
    each as a duplicate of the other.
    """

    def __init__(
        self,
        calls: AsyncCalls,
        proposed: ProposedEdits,
        tasks: Tasks,
        settings: Callable[[], Settings],
        push: Callable[..., None],
    ) -> None:
        """`push` queues a frame operation."""
        self._calls = calls
        self._proposed = proposed
        self._tasks = tasks
        self._settings = settings
        self._push = push
        self._lock = anyio.Lock()
        self._checks: dict[Decision, tuple[tuple[Any, ...], anyio.CancelScope]] = {}
        """Sources of the edits and scope of the running check, by decision."""

    def on_card(self, session: Session, decision: Decision) -> None:
        """Start a check when a card with new or changed edits is drawn."""
        if not self._settings().review.diagnostics or decision.outcome is not None:
            return
        sources = proposal_sources(session, decision)
        last = self._checks.get(decision)
        if last is not None and not has_other_sources(session, decision, last[0]):
            return
        if last is None:
            decision.waiters.append(lambda _: self._cancel_check(decision))
        else:
            last[1].cancel()
        scope = anyio.CancelScope()
        self._checks[decision] = sources, scope
        self._tasks.start_soon(self._check, session, decision, scope)

    def _cancel_check(self, decision: Decision) -> None:
        """Cancel the check of a decision that was answered."""
        self._checks.pop(decision)[1].cancel()

    async def _check(self, session: Session, decision: Decision, scope: anyio.CancelScope) -> None:
        """Compute the effects of the proposals and show them, one question at a time."""
        sources = proposal_sources(session, decision)
        with scope:
            async with self._lock:
                if not await self._calls.call(MODULE, "has_clients"):
                    return
                proposals = await self._proposed.proposals(session, decision)
                effects = [effect async for effect in self._effects(_checkable(proposals))]
            if has_other_sources(session, decision, sources):
                return  # the next card starts another check
            self._show(session, decision, proposals, effects)

    async def _effects(self, proposals: Sequence[Proposal]) -> Any:
        words = {p.path: new_words(p.base, p.text) for p in proposals}
        for proposal in proposals:
            elsewhere = set().union(*(new for path, new in words.items() if path != proposal.path))
            answer = await self._ask_servers(proposal)
            if answer is not None:
                change = effect(proposal.path, answer.opinions, answer.known, elsewhere)
                if change is not None:
                    yield change

    async def _ask_servers(self, proposal: Proposal) -> _Answer | None:
        file = {"path": proposal.path, "text": str(proposal.text)}
        if proposal.base is not None:
            file["base"] = str(proposal.base)
        try:
            return msgspec.convert(await self._calls.call(MODULE, "check", file), _Answer)
        except CallError:
            return None  # the check is optional, and a server may fail in any way

    def _show(
        self,
        session: Session,
        decision: Decision,
        proposals: Sequence[Proposal],
        effects: Sequence[Effect],
    ) -> None:
        """Show the diagnostics on the card, and in the review if it is open."""
        if decision.outcome is not None or list(decision.effects) == list(effects):
            return
        decision.effects = effects
        decision.redraw()
        session.change(decision.listed)
        files = [{"path": p.path, "marks": diagnostic_marks(decision, p)} for p in proposals]
        self._push("propose_marks", decision.id, files)


def _checkable(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals that can be checked, at most `MAX_FILES`.

    These are whole texts that are not too long, of files that are neither deleted nor moved.
    """
    return list(_all_checkable(proposals))[:MAX_FILES]


def _all_checkable(proposals: Sequence[Proposal]) -> Iterator[Proposal]:
    for proposal in proposals:
        is_move = proposal.origin is not None and proposal.origin != proposal.path
        sizes = [
            sum(map(len, text.lines)) for text in (proposal.base, proposal.text) if text is not None
        ]
        if (
            proposal.is_whole
            and not proposal.is_deletion
            and not is_move
            and max(sizes) <= MAX_CHARACTERS
        ):
            yield proposal
