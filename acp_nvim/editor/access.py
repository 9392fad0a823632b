"""Questions about paths: an agent wants to read or write outside of its session, or a secret
file.
"""

from __future__ import annotations

from acp_nvim.agent.client import decision_id, wait
from acp_nvim.session.asking.decisions import CANCELLED, Decision, Option
from acp_nvim.session.session import Session

OPTIONS = (
    Option("allow_once", "Allow once", "allow_once"),
    Option("allow_always", "Allow this file for the session", "allow_always"),
    Option("reject_once", "Refuse", "reject_once"),
)


class Access:
    """Asks once for a path; remembers what was allowed for the whole session."""

    def __init__(self) -> None:
        """Nothing is allowed yet."""
        self._allowed: set[tuple[int, str, str]] = set()

    async def __call__(self, session: Session, verb: str, path: str, reason: str) -> bool:
        """Return whether the user lets the agent `read` or `write` a path that is `outside` or
        `secret`.
        """
        key = (session.n, verb, path)
        if key in self._allowed:
            return True
        what = (
            "a secret file" if reason == "secret" else "a file outside of the session's directories"
        )
        kind = "read" if verb == "read" else "edit"
        decision = Decision(
            decision_id(), "access", f"{verb} {what}: {path}", kind=kind, options=OPTIONS
        )
        if session.status == "cancelling":
            decision.resolve(CANCELLED, "cancel")
        session.ask(decision)
        outcome = await wait(decision)
        if outcome.option is None:
            return False
        if outcome.option.id == "allow_always":
            self._allowed.add(key)
        return outcome.option.kind.startswith("allow")
