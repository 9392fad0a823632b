"""Questions about paths: an agent wants to read or write outside of its session, a secret file, or
one that other programs run.
"""

from __future__ import annotations

import os

from acp_nvim import wording
from acp_nvim.agent.serving.answering import decision_id, wait
from acp_nvim.files.bytes.paths import Place
from acp_nvim.render.question_title import REASONS
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Option
from acp_nvim.session.session import Session

OPTIONS = (
    Option("allow_once", wording.OPTION_ALLOW, "allow_once"),
    Option("allow_always", wording.OPTION_ALLOW_FILE, "allow_always"),
    Option("reject_once", "Refuse", "reject_once"),
)


class Access:
    """Asks once for a path; remembers which files were allowed for the whole session, by where
    their paths led then.
    """

    def __init__(self) -> None:
        """Nothing is allowed yet."""
        self._allowed: set[tuple[int, str, str]] = set()

    async def __call__(self, session: Session, verb: str, where: Place, reason: str) -> bool:
        """Return whether the user lets the agent `read` or `write` a path that is `outside`,
        `secret` or `executed`.
        """
        key = (session.n, verb, where.real)
        if key in self._allowed:
            return True
        kind = "read" if verb == "read" else "edit"
        title = f"{verb} {REASONS[reason]}: {_named(where)}"
        decision = Decision(decision_id(), "access", title, kind=kind, options=OPTIONS)
        if session.status == "cancelling":
            decision.resolve(CANCELLED, "cancel")
        session.ask(decision)
        outcome = await wait(decision)
        if outcome.option is None:
            return False
        if outcome.option.id == "allow_always":
            self._allowed.add(key)
        return outcome.option.kind.startswith("allow")


def _named(where: Place) -> str:
    """A path as the agent spelled it, and where it leads if that is elsewhere."""
    leads = where.real != os.path.normpath(where.path)
    return f"{where.path} ({where.real})" if leads else where.path
