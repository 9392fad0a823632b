"""Questions from agents outside of a session, for example during a login (v1/elicitation#scope)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from acp_nvim import wording
from acp_nvim.nvim.plain import plain
from acp_nvim.render.cards import card, count_option_rows, title_text
from acp_nvim.render.rows import decor
from acp_nvim.session import snapshot
from acp_nvim.session.questions.decisions import CANCELLED, MAX_LISTED, Decision, Decisions

NO_SESSION = 0
"""Number in the frame operation `cards` for questions outside of a session."""
MAX_QUESTIONS: Final = 500
"""Maximum number of open questions outside of sessions. Each answer redraws the others."""


class UnscopedQuestions:
    """Pending questions outside of a session, shown as cards and in `state().elicitations`."""

    def __init__(
        self, push: Callable[..., None], state: Callable[[list[str | int], Any], None]
    ) -> None:
        """`push` queues a frame operation, `state` sets a value of the snapshot."""
        self.decisions = Decisions()
        self._has_reported = False
        self._push = push
        self._state = state

    def ask(self, decision: Decision) -> None:
        """Show a question, unless it is already answered. Cancel it if too many are open."""
        if decision.outcome is not None:
            return
        if len(self.decisions) >= MAX_QUESTIONS:
            decision.resolve(CANCELLED, "limit")
            self._report_limit()
            return
        self.decisions.add(decision)
        decision.set_redraw(self._publish)
        decision.waiters.append(lambda _: self._publish())
        if len(self.decisions) <= MAX_LISTED:
            self._publish()
        self._push("event", "AcpElicitation", plain({"id": decision.id, "mode": decision.kind}))

    def show_listed(self) -> None:
        """Show the cards of all listed questions."""
        if self.decisions.show_listed():
            self._publish()

    def _report_limit(self) -> None:
        """Warn the user once that questions are cancelled."""
        if not self._has_reported:
            self._has_reported = True
            title = wording.TOO_MANY_UNSCOPED.format(count=MAX_QUESTIONS)
            self._push("event", "AcpNotice", plain({"severity": "warning", "title": title}))

    def _publish(self) -> None:
        decisions = self.decisions
        self._state(
            ["elicitations"], [snapshot.elicitation(decision) for decision in decisions.listed]
        )
        shown = [card_of(decision) for decision in decisions.front]
        self._push("cards", NO_SESSION, shown, decisions.count_without_card)


def card_of(decision: Decision) -> dict[str, Any]:
    """Return the card of a decision without a tool call, for the frame operation `cards`."""
    rows = card(decision)
    return {
        "id": decision.id,
        "subject": decision.subject,
        "title": title_text(decision, None, ""),
        "head": len(rows) - count_option_rows(decision),
        "lines": [text for text, _, _ in rows],
        "spans": decor(rows)[0],
        "options": snapshot.options(decision.options),
    }
