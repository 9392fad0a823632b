"""Questions about paths that are outside of the session, secret, or executed by other programs."""

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
    """Questions about paths, and the files that the user allowed for a whole session.

    Allowed files are stored by the resolved path at the time of the answer.
    """

    def __init__(self) -> None:
        self._allowed: set[tuple[int, str, str]] = set()

    async def __call__(self, session: Session, verb: str, where: Place, reason: str) -> bool:
        """Return whether the user lets the agent `read` or `write` a path.

        `reason` is `outside`, `secret` or `executed`.
        """
        key = (session.n, verb, where.real)
        if key in self._allowed:
            return True
        kind = "read" if verb == "read" else "edit"
        title = f"{verb} {REASONS[reason]}: {_path_with_target(where)}"
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


def _path_with_target(where: Place) -> str:
    """Return a path as the agent spelled it, with the resolved path if that differs."""
    leads = where.real != os.path.normpath(where.path)
    return f"{where.path} ({where.real})" if leads else where.path
