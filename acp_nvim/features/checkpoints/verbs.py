"""Verbs for checkpoints: list, compare, restore, rewind."""

from __future__ import annotations

from functools import partial
from typing import Any

from acp_nvim import wording
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.app import Host
from acp_nvim.features.checkpoints import rewinding, words
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args, verb


@verb("checkpoints")
async def checkpoints(host: Host, args: Args) -> None:
    """List the checkpoints of the current session, with the changes since each."""
    session = _session_of(host, args)
    if session is not None and _can_have_checkpoints(host, session):
        await _show_checkpoints(host, session)


def _can_have_checkpoints(host: Host, session: Session) -> bool:
    """Return whether a session can have checkpoints. If not, tell the user why."""
    if not session.shares_files:
        host.echo("info", words.FILES_APART)
    elif not host.options.files().checkpoints:
        host.echo("info", words.CHECKPOINTS_OFF)
    else:
        return True
    return False


def _session_of(host: Host, args: Args) -> Session | None:
    """Return the session to which a checkpoint verb applies. Tell the user if there is none."""
    conversation = host.sessions.conversation(args.get("session") or None)
    conversation = conversation or rewinding.latest_with_checkpoint(host)
    if conversation is not None:
        rewinding.number_prompts(host, conversation)
        return conversation.session
    host.echo("info", wording.NO_SESSION)
    return None


async def _show_checkpoints(host: Host, session: Session) -> None:
    lines = await rewinding.rewind_of(host).list_lines(session)
    host.screen.push("show", f"acp://checkpoints/{session.n}", "acpcheckpoints", lines)


def _has_checkpoints(host: Host, session: Session) -> bool:
    """Return whether a session has checkpoints or will have some. If not, tell the user why."""
    made = host.workspace.files.checkpoints.of(session.n)
    return bool(made) or _can_have_checkpoints(host, session)


@verb("changes")
async def changes(host: Host, args: Args) -> None:
    """Show the changes since the checkpoint before prompt n."""
    session = _session_of(host, args)
    if session is not None and _has_checkpoints(host, session):
        n = int(args["n"])
        lines = await rewinding.rewind_of(host).changes(session, n)
        host.screen.push("show", f"acp://changes/{session.n}/{n}", "diff", lines)


@verb("restore")
async def restore(host: Host, args: Args) -> None:
    """Restore the files that agents changed to their state before prompt n.

    With `every`, also revert the user's changes. Without n, undo the last restore. With `list`,
    update the window that lists the checkpoints.
    """
    session = _session_of(host, args)
    conversation = None if session is None else host.sessions.conversation(session.n)
    if session is None or conversation is None:
        return
    wanted: Any = args.get("n")
    if wanted and not _has_checkpoints(host, session):
        return
    rewind, every = rewinding.rewind_of(host), bool(args.get("every"))
    ask = partial(host.choose, kind="restore")
    async with host.workspace.deciding():
        notes = None if wanted else await rewinding.undo(host, conversation, ask)
        if notes is None:
            notes = await rewind.restore(session, int(wanted) if wanted else None, ask, every=every)
    if len(notes) > 1:
        session.notice("warning", notes[0], notes[1:])
    host.nvim.notices.show_lines(notes)
    if args.get("list"):
        await _show_checkpoints(host, session)


@verb("rewind")
async def rewind(host: Host, args: Args) -> None:
    """Rewind files and conversation to before prompt n. Without n, let the user choose."""
    conversation = host.sessions.conversation(args.get("session") or None)
    conversation = conversation or await rewinding.open_latest(host)
    if conversation is None:
        host.echo("info", wording.NO_SESSION)
        return
    if conversation.session.is_running:
        host.echo("info", words.STILL_WORKING_REWIND)
        return
    source = await rewinding.with_earlier_prompts(host, conversation)
    n = int(args["n"]) if args.get("n") else await _choose_prompt(host, conversation, source)
    if n is None:
        return
    ask = partial(host.choose, kind="restore")
    async with host.workspace.deciding():
        notes = await rewinding.rewind(host, conversation, source, n, ask)
    host.nvim.notices.show_lines(notes)


async def _choose_prompt(host: Host, conversation: Conversation, source: Session) -> int | None:
    """Let the user choose a prompt, newest first. `source` has the transcript."""
    known = list(reversed(rewinding.prompts(source).items()))
    if not known:
        host.echo("info", rewinding.no_prompts_message(host, conversation.session))
        return None
    labels = [rewinding.prompt_label(n, message) for n, message in known]
    at = await host.choose(words.REWIND_TO, labels, "rewind")
    return None if at is None else known[at][0]
