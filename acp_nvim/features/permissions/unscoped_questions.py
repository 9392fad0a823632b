"""Questions of agents that belong to no session, for example during a login
(v1/elicitation#scope).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acp_nvim.nvim.plain import plain
from acp_nvim.render.cards import card, option_rows, title_text
from acp_nvim.render.rows import decor
from acp_nvim.session import snapshot
from acp_nvim.session.questions.decisions import IN_STATE, Decision, Decisions

NO_SESSION = 0
"""Stands for the session's number where cards have none."""


class UnscopedQuestions:
    """Shows these questions as cards and in `state().elicitations`."""

    def __init__(
        self, push: Callable[..., None], state: Callable[[list[str | int], Any], None]
    ) -> None:
        """`push` queues a frame operation, `state` sets a value of the snapshot."""
        self.decisions = Decisions()
        self._push = push
        self._state = state

    def ask(self, decision: Decision) -> None:
        """Ask, unless it is answered already."""
        if decision.outcome is not None:
            return
        self.decisions.add(decision)
        decision.drawn_by(self._tell)
        decision.waiters.append(lambda _: self._tell())
        if len(self.decisions) <= IN_STATE:
            self._tell()
        self._push("event", "AcpElicitation", plain({"id": decision.id, "mode": decision.kind}))

    def bring_listed(self) -> None:
        """Show the cards of all that are listed."""
        if self.decisions.bring_listed():
            self._tell()

    def _tell(self) -> None:
        decisions = self.decisions
        self._state(["elicitations"], [snapshot.elicitation(it) for it in decisions.listed])
        shown = [card_of(decision) for decision in decisions.front]
        self._push("cards", NO_SESSION, shown, decisions.behind)


def card_of(decision: Decision) -> dict[str, Any]:
    """A decision as `cards` wants it, without a tool call to go with it."""
    rows = card(decision)
    return {
        "id": decision.id,
        "subject": decision.subject,
        "title": title_text(decision, None, ""),
        "head": len(rows) - option_rows(decision),
        "lines": [text for text, _, _ in rows],
        "spans": decor(rows)[0],
        "options": snapshot.options(decision.options),
    }
