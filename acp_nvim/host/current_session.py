"""Check of the current session before a command changes its settings."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.app import Host
from acp_nvim.verbs import Args


def uncertainty(host: Host, args: Args) -> str | None:
    """Return a message if the session of a command is uncertain, or None.

    A command without a number is for the current session. While a new session is being prepared,
    the user may mean that one. A choice names the session that was current when it was shown as
    `shown`; another session may be current by the time of the answer.
    """
    if args.get("session") is not None:
        return None
    if host.sessions.preparation is not None:
        return wording.SESSION_PREPARED
    conversation, shown = host.sessions.conversation(None), args.get("shown")
    if conversation is not None and shown not in (None, conversation.session.n):
        return wording.SESSION_CHANGED.format(session=conversation.session.n)
    return None
