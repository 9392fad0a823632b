"""Application of updates by id (`protocol.updates`): messages, contents of tool calls, terminals
of the agent (v2/prompt-lifecycle, v2/tool-calls).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from msgspec import UNSET

from acp_nvim.protocol import schema, updates
from acp_nvim.session import turns
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import bounded_item
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Message, Part, Role

OUTPUT_BYTES: Final = 1 << 20
"""Maximum number of text bytes that chunks may add to a tool call, if no option sets it."""


def part(content: Any) -> Part:
    """Return streaming text, or a block for anything but text for the user."""
    if content.__class__ is not schema.TextContent:
        return cast("Part", content)
    if content.annotations and content.annotations.audience == ["assistant"]:
        return cast("Part", content)
    return str(content.text)


def sent(content: Any) -> Iterable[Any]:
    """Return a block of the user as the blocks that were sent."""
    if content.__class__ is not schema.TextContent or "<context ref=" not in content.text:
        return [content]
    from acp_nvim.session.transcript.context_blocks import restored

    return restored(content)


def parts_of(content: Any, known: schema.Annotations | None = None) -> list[Part]:
    """Return the parts that a block adds to a message.

    Annotations precede their text, unless they are `known`, those of the text before it.
    """
    it = part(content)
    annotations = content.annotations if isinstance(it, str) else None
    if not annotations or annotations == known:
        return [it]
    return [cast("Part", schema.TextContent("", annotations)), it]


def stream(session: Session, role: Role, content: Any, message_id: str | None) -> Message:
    """Append a block to the message that it continues, or to a new one."""
    last = session.transcript.last
    known = last.annotations if isinstance(last, Message) and last.role == role else None
    *before, text = parts_of(content, known)
    for it in before:
        session.transcript.stream(role, it, message_id)
    message = session.transcript.stream(role, text, message_id)
    message.annotations = getattr(content, "annotations", None) or None
    return message


def chunk(session: Session, update: updates.MessageChunk) -> None:
    """Append a chunk to a message. A prompt from here keeps the user's text."""
    role, content = update.role, update.content
    if role == "user" and _is_ours(session, update.message_id, [part(content)]):
        return
    message = session.transcript.named(role, update.message_id)
    known = None if message is None else message.annotations
    blocks = sent(content) if role == "user" else [content]
    for it in (it for block in blocks for it in parts_of(block, known)):
        message = session.transcript.chunk(role, update.message_id, it)
    assert message is not None
    message.annotations = getattr(content, "annotations", None) or None
    _spoken(session, message)


def content(session: Session, update: updates.MessageContent) -> None:
    blocks: Iterable[Any] = update.content
    if update.role == "user":
        blocks = [it for block in update.content for it in sent(block)]
    parts = [it for block in blocks for it in parts_of(block)]
    if update.role == "user" and _is_ours(session, update.message_id, parts):
        return
    _spoken(session, session.transcript.rewrite(update.role, update.message_id, parts))


def kept(session: Session, update: updates.MessageKept) -> None:
    """Handle an existing message. It may give the running prompt its id."""
    if update.role == "user" and session.prompted is not None:
        _is_ours(session, update.message_id, [session.echo])


def _spoken(session: Session, message: Message) -> None:
    if message.role == "user":
        message.author = session.user
        session.observer.changed(session)
    else:
        session.observer.streamed()


def _is_ours(session: Session, message_id: str, parts: Sequence[Part]) -> bool:
    """Return whether a message of the user is the last sent prompt.

    It has that id, or no id is known yet and the text is the same.
    """
    if message_id in session.own_words:
        return True
    if session.prompted is None or session.transcript.named("user", message_id) is not None:
        return False
    text = "".join(one for one in parts if isinstance(one, str))
    if session.echo and not (text and session.echo.startswith(text)):
        return False
    turns.name_prompt(session, message_id)
    return True


# -- tool calls -----------------------------------------------------------------------------------


def call_content(session: Session, update: updates.CallContent) -> None:
    """Append an item to a tool call, which the first item creates."""
    call = session.tool_calls.get(update.tool_call_id)
    if call is None:
        call_updates.upsert(
            session, updates.CallPatch(update.tool_call_id, content=[update.content])
        )
        return
    item, size = bounded_item(update.content, OUTPUT_BYTES - call.streamed)
    if item is not None:
        call.extend(item, size)
        call_updates.upsert(session, updates.CallPatch(update.tool_call_id))


# -- terminals ------------------------------------------------------------------------------------


def terminal_state(session: Session, update: updates.TerminalState) -> None:
    """Update a terminal of the agent. Absent fields stay the same."""
    terminals = session.terminals
    terminal = terminals.reported(update.terminal_id)
    if update.command is not UNSET or update.cwd is not UNSET:
        command = terminal.launch.command if update.command is UNSET else update.command
        cwd = terminal.launch.cwd if update.cwd is UNSET else update.cwd or None
        terminal.describe(command or update.terminal_id, None if cwd == session.cwd else cwd)
        session.observer.command(session, command, cwd or session.cwd)
    if update.cancellable is not UNSET:
        terminal.may_cancel(update.cancellable)
    if update.output is not UNSET:
        terminal.replace(update.output)
    if update.exit is None:
        terminal.restart()
    elif update.exit is not UNSET:
        terminal.end(schema.given(update.exit.exit_code), schema.given(update.exit.signal))
    terminals.written(terminal)
    session.change("terminals")


def terminal_bytes(session: Session, update: updates.TerminalBytes) -> None:
    """Append output to a terminal of the agent."""
    session.terminals.reported(update.terminal_id).feed_lines(update.data)


def usage(session: Session, update: updates.UsageState) -> None:
    """Set tokens and cost. An absent cost keeps the former one."""
    cost = update.cost
    if cost is UNSET:
        cost = session.usage.cost if session.usage else UNSET
    session.usage = schema.UsageUpdate(update.used, update.size, cost)
    session.change("usage")
