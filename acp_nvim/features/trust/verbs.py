"""Verb for trusting a session."""

from __future__ import annotations

from typing import Final

from acp_nvim import wording
from acp_nvim.app import Host
from acp_nvim.features.trust import words
from acp_nvim.host.current_session import uncertainty
from acp_nvim.verbs import Args, verb

LINES: Final = {
    "edits": words.TRUST_EDITS,
    "all": words.TRUST_ALL,
    "off": words.TRUST_OFF,
}


@verb("trust")
def trust(host: Host, args: Args) -> None:
    """Set which permissions of a session are allowed without asking.

    Questions that are already pending still require the user's answer.
    """
    if (problem := uncertainty(host, args)) is not None:
        host.echo("warn", problem)
        return
    level = str(args["level"])
    conversation = host.sessions.conversation(args.get("session"))
    if conversation is None or conversation.session.status == "closed":
        host.echo("info", wording.NO_SESSION)
        return
    session = conversation.session
    session.trust = None if level == "off" else "edits" if level == "edits" else "all"
    session.change("trust")
    session.notice("info", LINES[level])
    host.echo("info", LINES[level])
