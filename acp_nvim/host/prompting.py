"""Prompts from the arguments of the verb `prompt`, and the sessions that get them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from acp_nvim import wording
from acp_nvim.agent.git_branch import git_branch
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.prompts.media import TEXT_BYTES, attachment, mime_of
from acp_nvim.app import Host
from acp_nvim.nvim.buffers import texts_of
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.errors import RemoteProtocolError
from acp_nvim.session import queue
from acp_nvim.session.prompts import BUFFER_URI, Attachment, Excerpt, Prompt, Variable
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args


def prompt_of(host: Host, args: Args) -> Prompt:
    """Build a prompt from the verb's arguments. Raise `msgspec.ValidationError` for a bad block."""
    given = [_block(n, block) for n, block in enumerate(args.get("blocks") or (), 1)]
    text = args.get("text") or " ".join(b.text for b in given if isinstance(b, schema.TextContent))
    variables = [_variable(item, args["cwd"]) for item in args.get("variables") or ()]
    attachments = [*_ranges(args), *_files(host, args)]
    attachments += [variable for variable in variables if variable.name != "diff" and variable.text]
    diff = next((variable.text for variable in variables if variable.name == "diff"), None)
    late = None if diff is None else functools.partial(_diff, args["cwd"], diff)
    meta: Mapping[str, Any] | None = args.get("meta") or None
    delivery = args.get("delivery")
    number = int(delivery) if delivery else None
    unsaved = texts_of((args.get("files") or {}).get("unsaved"))
    prompt = Prompt(text, attachments, given=given, meta=meta, late=late, delivery=number)
    prompt.unsaved, prompt.untyped = unsaved, args.get("untyped")
    return prompt


def is_empty(prompt: Prompt) -> bool:
    """Return whether there is nothing to send."""
    given = any(not isinstance(b, schema.TextContent) or b.text.strip() for b in prompt.given)
    return not (prompt.text.strip() or given or prompt.attachments or prompt.late)


def conversation_for(host: Host, args: Args) -> Conversation:
    """Return the session for a prompt, or a new one if there is none.

    All prompts for an ended session go to the same new session, which also gets its queue. A prompt
    in a read-only chat continues the stored session.
    """
    wanted = args.get("agent")
    named = None if args.get("new") else host.sessions.conversation(args.get("session"))
    if named is None:
        return host.sessions.new(args["cwd"], wanted, preset=args.get("preset"))
    successor = _open_successor(host, named)
    if successor is not None and wanted in (None, "", successor.session.agent):
        return successor
    session = named.session
    continued = None
    if session.status == "closed" and not wanted:
        continued = host.transcripts.continue_chat(named)
    if continued is not None:
        session.successor = continued.session.n
        return continued
    new = host.sessions.new(args["cwd"], wanted, preset=args.get("preset"))
    if session.has_ended:
        session.successor = new.session.n
        _move_waiting(host, session, new.session)
    if session.status == "closed":
        host.echo("info", wording.SESSION_CLOSED.format(session=session.n))
    return new


def _open_successor(host: Host, conversation: Conversation) -> Conversation | None:
    """Return the conversation if it is open, else its open successor, or None."""
    chosen: Conversation | None = conversation
    while chosen is not None and chosen.session.has_ended:
        n = chosen.session.successor
        chosen = None if n is None else host.sessions.conversation(n)
    return chosen


def _move_waiting(host: Host, old: Session, new: Session) -> None:
    """Move the composer and the queue of an ended session to a new one, and hold the queue."""
    host.screen.push("composer_moves", old.n, new.n)
    if old.queue:
        queue.hold_first(new, list(old.queue))
        queue.replace(old, ())


def submit(host: Host, conversation: Conversation, sent: Prompt) -> None:
    """Queue a prompt. Show a message if it is not sent at once."""
    if conversation.is_open and not conversation.session.in_turn:
        host.nvim.pace.hold()  # the prompt is sent at once and drawn after that
    passed = conversation.submit(sent)
    if passed:
        host.echo("info", wording.PROMPT_OVERTAKES.format(count=passed))
    elif conversation.session.in_turn and conversation.session.queue:
        waiting = len(conversation.session.queue)
        host.echo("info", wording.QUEUED.format(count=waiting))


# -- attachments ---------------------------------------------------------------------------------


def _block(number: int, block: Any) -> Any:
    """Decode a content block from Lua (v1/content)."""
    if isinstance(block, str):
        return schema.TextContent(block)
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise msgspec.ValidationError(wording.BLOCK_WITHOUT_TYPE.format(number=number))
    try:
        decoded: Any = codec.decode(schema.ContentBlock, msgspec.json.encode(block))  # type: ignore[arg-type]
    except RemoteProtocolError as error:
        raise msgspec.ValidationError(
            wording.BLOCK_WRONG.format(number=number, reason=error)
        ) from error
    if isinstance(decoded, schema.UnknownContent):
        raise msgspec.ValidationError(
            wording.BLOCK_OF_UNKNOWN_TYPE.format(
                number=number,
                type=decoded.type,
                types="text, image, audio, resource_link, resource",
            )
        )
    return decoded


def _ranges(args: Args) -> list[Attachment]:
    """Return the attached lines of buffers. `range` is the last of `ranges`."""
    lines = args.get("ranges") or ([args["range"]] if args.get("range") else [])
    return [_excerpt(line, args["cwd"]) for line in lines]


def _excerpt(lines: Args, cwd: str) -> Excerpt:
    """Return lines of a buffer as an attachment.

    For a buffer without a file, the path is the number of the buffer.
    """
    name = lines.get("path")
    path = str(Path(cwd, name)) if name else f"{BUFFER_URI}{lines.get('bufnr', 0)}"
    mime = mime_of(path, b"") if name else "text/plain"
    return Excerpt(path, lines["text"], lines.get("first"), lines.get("last"), mime)


def _files(host: Host, args: Args) -> list[Attachment]:
    """Return the attached files, each with the text of its buffer if that has unsaved changes."""
    attachments: list[Attachment] = []
    for item in args.get("attach") or ():
        path, live = (item["path"], item.get("text")) if isinstance(item, dict) else (item, None)
        attachments.append(attachment(str(path), live, lambda line: host.echo("info", line)))
    return attachments


def _variable(item: Args, cwd: str) -> Variable:
    name, text = str(item["name"]), str(item["text"])
    return Variable(name, (git_branch(cwd) or "") if name == "branch" else _cut(text))


async def _diff(cwd: str, unsaved: str) -> Sequence[Attachment]:
    """Return the output of `git diff` at the time of sending, and the unsaved changes."""
    from acp_nvim.agent.prompts import git_changes

    text = await git_changes.diff(cwd, agent_environment())
    changes = "\n".join(part for part in (text, unsaved) if part)
    return [Variable("diff", _cut(changes) or "no changes")]


def _cut(text: str) -> str:
    """Return a text cut to the size limit of attached files, with a note of the cut."""
    if len(text) <= TEXT_BYTES:
        return text
    end = text.rfind("\n", 0, TEXT_BYTES)
    end = end if end > 0 else TEXT_BYTES
    return f"{text[:end]}\n[cut: {len(text) - end} more characters]"
