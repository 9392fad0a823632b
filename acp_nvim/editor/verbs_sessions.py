"""Verbs about sessions."""

from __future__ import annotations

from acp_nvim.editor.host import Host
from acp_nvim.editor.verbs import Args, verb


@verb("new")
def new(host: Host, args: Args) -> None:
    """Open a new session and its chat."""
    conversation = host.new_session(args["cwd"], args.get("agent"))
    host.screen.push("open_chat", conversation.session.n)
    conversation.open()
