"""Rewind to before a prompt: restore the files from its checkpoint, branch the conversation.

The branch is a new session. The old one is unchanged, so a rewind can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from acp_nvim import wording
from acp_nvim.agent.opening.origin import Branch, ForkPoint, Origin
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.app import Host
from acp_nvim.features.checkpoints import earlier_prompts, words
from acp_nvim.files.checkpoints.rewind import Ask, Rewind
from acp_nvim.host.transcripts import UnreadableError
from acp_nvim.render.calls.tools import Style
from acp_nvim.render.entry_rows import fork_history
from acp_nvim.render.text import one_line
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Entry, Message

LABEL_WIDTH = 70
"""Maximum number of characters of a prompt in a list."""


def rewind_of(host: Host) -> Rewind:
    """Return the checkpoint commands of this host."""
    workspace = host.workspace
    claim = workspace.persistence.claim_workspaces
    return host.parts.get(
        Rewind,
        lambda: Rewind(workspace.files, workspace.live, workspace.disk, workspace.prompts, claim),
    )


def prompts(session: Session) -> dict[int, Message]:
    """Return the prompts of a session by their numbers, oldest first."""
    by_number: dict[int, Message] = {}
    for entry in session.transcript.entries:
        if isinstance(entry, Message) and entry.prompt is not None:
            by_number.setdefault(entry.prompt, entry)
    return by_number


def prompt_label(n: int, message: Message) -> str:
    """Return the line of a prompt in a list."""
    return f"prompt {n}: {one_line(message.text(), LABEL_WIDTH)}"


def number_prompts(host: Host, conversation: Conversation) -> None:
    """Number the prompts that a session had in an earlier Neovim, and adopt their checkpoints."""
    session = conversation.session
    stored = host.transcripts.stored_of(session)
    if stored is not None:
        earlier_prompts.number_prompts(host, session, stored.agent_id, stored.uid)
    elif conversation.origin.id:
        earlier_prompts.number_prompts(host, session, conversation.origin.id)


async def with_earlier_prompts(host: Host, conversation: Conversation) -> Session:
    """Return the session if it has its earlier prompts, else one with its stored transcript."""
    number_prompts(host, conversation)
    try:
        return await earlier_prompts.with_transcript(host, conversation.session)
    except UnreadableError as error:
        host.echo("warn", str(error))
        return conversation.session


async def open_latest(host: Host) -> Conversation | None:
    """Return the session with the latest checkpoint, for a Neovim that has no session of its own.

    If the history contains its transcript, open the transcript as a read-only chat and return that.
    """
    latest = latest_with_checkpoint(host)
    if latest is None:
        return None
    try:
        stored = await earlier_prompts.stored_session(host, latest.session)
    except UnreadableError as error:
        host.echo("warn", str(error))
        return latest
    return latest if stored is None else await host.transcripts.open(stored) or latest


def latest_with_checkpoint(host: Host) -> Conversation | None:
    """Return the session with the latest checkpoint, whichever Neovim ran it."""
    made = host.files.checkpoints.lists()[0]
    times = {
        n: checkpoints[-1].time
        for n, checkpoints in made.items()
        if checkpoints and n in host.sessions.conversations
    }
    return host.sessions.conversation(max(times, key=lambda n: times[n])) if times else None


async def rewind(
    host: Host, conversation: Conversation, source: Session, n: int, ask: Ask
) -> list[str]:
    """Rewind files and conversation to before prompt `n`. Return messages for the user.

    `source` is a session with the transcript. `ask` asks about files that the user has changed too.
    """
    known = prompts(source)
    if not known:
        return [no_prompts_message(host, conversation.session)]
    if n not in known:
        return [words.NO_SUCH_PROMPT.format(n=n, first=min(known), last=max(known))]
    notes, files = await _restore_files(host, conversation.session, n, ask)
    if files is None:
        return notes
    _branch(host, conversation, source, n, files)
    return notes


def no_prompts_message(host: Host, session: Session) -> str:
    """Return the message for a session without known prompts."""
    has_checkpoints = host.files.checkpoints.of(session.n)
    return words.PROMPTS_NOT_IN_HISTORY if has_checkpoints else words.NO_PROMPTS


async def _restore_files(
    host: Host, session: Session, n: int, ask: Ask
) -> tuple[list[str], bool | None]:
    """Restore the files. Return messages for the user, and whether files were restored.

    The latter is False without a checkpoint, and None if the user or a running turn prevents the
    rewind.
    """
    if session.is_running:
        return [words.STILL_WORKING_REWIND], None
    checkpoints = host.files.checkpoints
    if checkpoints.get(session.n, n) is None:
        return [words.REWOUND.format(n=n), words.FILES_WITHOUT_CHECKPOINT], False
    before = checkpoints.last_undo(session.n)
    notes = await rewind_of(host).restore(session, n, ask)
    if checkpoints.last_undo(session.n) is before:
        return notes, None
    return notes, True


def _branch(host: Host, old: Conversation, source: Session, n: int, files: bool) -> None:
    """Open a session that continues from before the prompt, with the prompt in its composer."""
    session, prompt = old.session, prompts(source)[n]
    at = source.transcript.entries.index(prompt)
    origin = msgspec.structs.replace(
        _origin(host, session, source, at), branch=Branch(session.n, files)
    )
    branch = host.sessions.new(
        session.cwd, session.agent, origin, session.title, preset=session.preset
    )
    number = branch.session.n
    host.workspace.prompts.branch(session, branch.session, n)
    session.notice("info", words.BRANCHED.format(n=n, session=number))
    host.screen.push("open_chat", number, session.n)
    host.screen.push("composer", number, prompt.text(), [], [])
    branch.open()


def _origin(host: Host, session: Session, source: Session, at: int) -> Origin:
    """Return the origin of a branch at entry `at`, a prompt.

    It is a fork at one of the agent's cursors, or at its last message before that entry if the
    message has an id. Otherwise it is a new session that gets the transcript.
    """
    earlier = source.transcript.entries[:at]
    if not any(isinstance(entry, Message) for entry in earlier):
        return Origin()
    style = Style(host.settings().chat.tool_lines, session.cwd)
    entries = partial(fork_history, source, style, at)
    point = ForkPoint(
        session.cursors.fork_point(source.transcript, at),
        _last_message(earlier),
    )
    if session.id and point != ForkPoint():
        return Origin("fork", session.id, entries=entries, point=point)
    return Origin("copy", entries=entries)


def _last_message(entries: Sequence[Entry]) -> str | None:
    """Return the id of the agent's last message that has one."""
    messages = (entry for entry in reversed(entries) if isinstance(entry, Message))
    return next(
        (
            message.message_id
            for message in messages
            if message.role == "agent" and message.message_id
        ),
        None,
    )


async def undo(host: Host, conversation: Conversation, ask: Ask) -> list[str] | None:
    """Undo a rewind: return to the session from which this one branched, and to its files.

    Return messages for the user, or None if there is no rewind to undo.
    """
    session, branch = conversation.session, conversation.origin.branch
    old = host.sessions.conversations.get(branch.n) if branch else None
    checkpoints = host.files.checkpoints
    if branch is None or old is None or checkpoints.last_undo(session.n) is not None:
        return None
    notes = [words.REWIND_UNDONE]
    if branch.has_files:
        before = checkpoints.last_undo(branch.n)
        if before is None:
            return None
        if session.is_running:
            return [wording.STILL_WORKING]
        notes = await rewind_of(host).restore(old.session, None, ask)
        if checkpoints.last_undo(branch.n) is before:
            return notes
    host.sessions.make_current(branch.n)
    host.screen.push("open_chat", branch.n, session.n)
    return notes
