"""Check of the current session before a command changes its settings."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.app import Host
from acp_nvim.verbs import Args


def is_settled(host: Host, args: Args) -> bool:
    """Return whether the session of a command is certain. Otherwise tell the user.

    A command without a number is for the current session. While a new session is being prepared,
    the user may mean that one. A choice names the session that was current when it was shown as
    `shown`; another session may be current by the time of the answer.
    """
    if args.get("session") is not None:
        return True
    if host.sessions.preparation is not None:
        host.echo("warn", wording.SESSION_PREPARED)
        return False
    conversation, shown = host.sessions.conversation(None), args.get("shown")
    if conversation is not None and shown not in (None, conversation.session.n):
        host.echo("warn", wording.SESSION_CHANGED.format(session=conversation.session.n))
        return False
    return True
