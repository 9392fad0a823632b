"""Verbs for worktrees: create one with its session, land it, drop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.agent.opening.origin import NEW
from acp_nvim.features.worktrees import parts, words
from acp_nvim.features.worktrees.records import Worktree
from acp_nvim.files.bytes import roots
from acp_nvim.files.checkpoints.store import StoreError
from acp_nvim.host.sessions import Preparation
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args, verb

if TYPE_CHECKING:
    from acp_nvim.app import Host


@verb("new_worktree")
def new_worktree(host: Host, args: Args) -> None:
    """Open a new session of an agent or a preset in a new worktree.

    Its chat replaces the chat of session `instead`. Prompts sent in the meantime go to the new
    session.
    """
    host.tasks.start_soon(_open_in_worktree, host, args, host.sessions.prepare())


async def _open_in_worktree(host: Host, args: Args, preparation: Preparation) -> None:
    n: int | None = None
    try:
        worktrees, cwd = parts(host)[0], str(args["cwd"])
        made = await worktrees.make(cwd, [args.get("name")])
        conversation = host.sessions.new_named(made.cwd, args.get("name"))
        n = conversation.session.n
        host.session_list.work_in(cwd)  # `made.cwd` may be removed
        host.screen.push("open_chat", n, args.get("instead"))
        worktrees.begin(conversation.session, made)
        conversation.open()
    except (StoreError, OSError) as error:
        host.echo("error", words.NO_WORKTREE_MADE.format(reason=error))
    finally:
        preparation.finish(n)


@verb("land")
async def land(host: Host, args: Args) -> None:
    """Land or drop the worktree of a file or of a session (given, current or chosen).

    `here` is the session whose chat or composer the user is in.
    """
    n, file = args.get("session"), args.get("file")
    if file is not None:
        worktree = parts(host)[0].records.of(str(file))
        if worktree is None:
            host.echo("info", words.WORKTREE_NO_LONGER_EXISTS)
    else:
        worktree = await _worktree(host, n, args.get("here"), str(args["cwd"]))
    if worktree is None:
        return
    landing = parts(host)[1]
    if args.get("drop"):
        await landing.drop([worktree])
    else:
        await landing.land(worktree, session_of(host, worktree, n))


async def _worktree(host: Host, n: int | None, here: int | None, cwd: str) -> Worktree | None:
    """Return the worktree of session `n`, else of the current session, else a chosen one.

    A racer of several is current without being chosen, so its worktree needs `here`.
    """
    records = parts(host)[0].records
    conversation = host.sessions.conversation(n)
    own = None if conversation is None else records.of(conversation.session.cwd)
    if own is not None and own.race and n is None and conversation is not None:
        racers = [record for record in records.all() if record.race == own.race]
        if len(racers) > 1 and conversation.session.n != here:
            own = None
    if own is not None or n is not None:
        if own is None:
            host.echo("info", words.NO_WORKTREE_OF.format(session=n))
        return own
    tree = roots.root_of(cwd)
    left = [worktree for worktree in records.all() if worktree.tree == tree]
    if not left:
        host.echo("info", words.NO_WORKTREE)
        return None
    items = [_label(host, worktree) for worktree in left]
    at = 0 if len(left) == 1 else await host.choose(words.CHOOSE_WORKTREE, items, "worktree")
    return None if at is None else left[at]


def _label(host: Host, worktree: Worktree) -> str:
    """Return a worktree for a choice. Its branch has the words of its title."""
    sessions = [conversation.session for conversation in parts(host)[0].sessions(worktree)]
    failed = words.PART_FAILED if any(session.error for session in sessions) else ""
    return "  ".join(filter(None, (worktree.racer, worktree.branch, failed)))


def session_of(host: Host, worktree: Worktree, n: int | None = None) -> Session:
    """Return the session that gets the landed edits. Add a closed one if there is none."""
    here = [
        conversation.session
        for conversation in host.sessions.conversations.values()
        if worktree.contains(conversation.session.cwd) and n in (None, conversation.session.n)
    ]
    if here:
        return max(here, key=lambda session: (session.status != "closed", session.n))
    session = host.sessions.new_closed(worktree.agent, worktree.path, worktree.title)
    host.sessions.add(session, NEW, None)
    return session
