"""Check of the current session before a command changes its settings."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.app import Host
from acp_nvim.verbs import Args


def uncertainty(host: Host, args: Args) -> str | None:
    """Return a message if it is unclear which session a command is for, or None.

    A command without a number is for the current session, but while a new session is being
    prepared, the user may mean the new one. `shown` is the session that was current when a choice
    was displayed. Another session may be current by the time the user answers.
    """
    if args.get("session") is not None:
        return None
    if host.sessions.preparation is not None:
        return wording.SESSION_PREPARED
    conversation, shown = host.sessions.conversation(None), args.get("shown")
    if conversation is not None and shown not in (None, conversation.session.n):
        return wording.SESSION_CHANGED.format(session=conversation.session.n)
    return None
