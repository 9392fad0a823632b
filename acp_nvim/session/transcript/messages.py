"""Messages: streamed ones (v1/prompt-turn) and those with an id (v2/prompt-lifecycle)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from msgspec import UNSET

from acp_nvim.patterns import late
from acp_nvim.protocol import schema, updates
from acp_nvim.session import turns
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Message, Part, Role

_CONTEXT = late(r'\n?<context ref="([^"\n]+)">\n(.*?)\n</context>(?:\n|\Z)', re.DOTALL)
"""An embedded resource that an agent returns as text."""


def part_of_block(content: Any) -> Part:
    """Return a text for the user as a string, and any other block unchanged."""
    if content.__class__ is not schema.TextContent:
        return cast("Part", content)
    if content.annotations and content.annotations.audience == ["assistant"]:
        return cast("Part", content)
    return str(content.text)


def blocks_as_sent(content: Any) -> Iterable[Any]:
    """Return a block from the user as the blocks that were sent."""
    if content.__class__ is not schema.TextContent or "<context ref=" not in content.text:
        return [content]
    return restore_blocks(content)


def parts_of(content: Any, known: schema.Annotations | None = None) -> list[Part]:
    """Return the parts that a block adds to a message.

    Annotations precede their text, unless they equal `known`, the annotations of the text before
    it.
    """
    part = part_of_block(content)
    annotations = content.annotations if isinstance(part, str) else None
    if not annotations or annotations == known:
        return [part]
    return [cast("Part", schema.TextContent("", annotations)), part]


def stream_block(session: Session, role: Role, content: Any, message_id: str | None) -> Message:
    """Append a block to the message that it continues, or to a new one. Return the message."""
    last = session.transcript.last
    known = last.annotations if isinstance(last, Message) and last.role == role else None
    *before, text = parts_of(content, known)
    for part in before:
        session.transcript.stream(role, part, message_id)
    message = session.transcript.stream(role, text, message_id)
    message.annotations = getattr(content, "annotations", None) or None
    return message


# -- streamed messages ---------------------------------------------------------------------------


def add_agent_chunk(session: Session, update: schema.AgentMessageChunk) -> None:
    content, message_id = update.content, update.message_id or None
    if content.__class__ is schema.TextContent and not content.annotations:
        session.transcript.stream("agent", content.text, message_id)
    else:
        stream_block(session, "agent", content, message_id)
    session.observer.on_stream()


def add_thought_chunk(session: Session, update: schema.AgentThoughtChunk) -> None:
    stream_block(session, "thought", update.content, update.message_id or None)
    session.observer.on_stream()


def add_user_chunk(session: Session, update: schema.UserMessageChunk) -> None:
    """Add a chunk of a user's message. Drop an echo of the prompt that is already shown."""
    for content in blocks_as_sent(update.content):
        _user_block(session, content, update.message_id or None)


def _user_block(session: Session, content: Any, message_id: str | None) -> None:
    text = part_of_block(content)
    if session.echo and isinstance(text, str) and session.echo.startswith(text):
        session.echo = session.echo[len(text) :]
        if message_id and session.prompt_message is not None:
            session.transcript.set_message_id(session.prompt_message, message_id)
        return
    message = session.transcript.stream("user", text, message_id)
    message.author = session.user
    session.observer.on_change(session)


def join_chunks(updates: Sequence[Any]) -> schema.AgentMessageChunk | None:
    """Join plain text chunks of one agent message into one chunk. Return None for other updates."""
    if len(updates) < 2:
        return None
    message_id = getattr(updates[0], "message_id", UNSET)
    texts: list[str] = []
    for update in updates:
        if update.__class__ is not schema.AgentMessageChunk or update.message_id != message_id:
            return None
        content = update.content
        if content.__class__ is not schema.TextContent or content.annotations:
            return None
        texts.append(content.text)
    return schema.AgentMessageChunk(schema.TextContent("".join(texts)), message_id)


def turn_text(session: Session) -> str:
    """Return the agent's text since the user's last message."""
    texts: list[str] = []
    for entry in reversed(session.transcript.entries):
        if isinstance(entry, Message) and entry.role == "user":
            break
        if isinstance(entry, Message) and entry.role == "agent":
            texts.append(entry.text())
    return "".join(reversed(texts))


# -- messages of a given id ----------------------------------------------------------------------


def append_chunk(session: Session, update: updates.MessageChunk) -> None:
    """Append a chunk to a message. Drop a chunk of a prompt that is already shown."""
    role, content = update.role, update.content
    if role == "user" and _is_prompt(session, update.message_id, [part_of_block(content)]):
        return
    message = session.transcript.message_of(role, update.message_id)
    known = None if message is None else message.annotations
    blocks = blocks_as_sent(content) if role == "user" else [content]
    for part in (part for block in blocks for part in parts_of(block, known)):
        message = session.transcript.chunk(role, update.message_id, part)
    assert message is not None
    message.annotations = getattr(content, "annotations", None) or None
    _add(session, message)


def content(session: Session, update: updates.MessageContent) -> None:
    blocks: Iterable[Any] = update.content
    if update.role == "user":
        blocks = [sent for block in update.content for sent in blocks_as_sent(block)]
    parts = [part for block in blocks for part in parts_of(block)]
    if update.role == "user" and _is_prompt(session, update.message_id, parts):
        return
    _add(session, session.transcript.rewrite(update.role, update.message_id, parts))


def on_unchanged(session: Session, update: updates.MessageUnchanged) -> None:
    """Take a new id of a user's message as the id of the running prompt."""
    if update.role == "user" and session.prompt_message is not None:
        _is_prompt(session, update.message_id, [session.echo])


def _add(session: Session, message: Message) -> None:
    if message.role == "user":
        message.author = session.user
        session.observer.on_change(session)
    else:
        session.observer.on_stream()


def _is_prompt(session: Session, message_id: str, parts: Sequence[Part]) -> bool:
    """Return whether a user message is the prompt that was sent last.

    It has that id, or no id is known yet and the text is the same. In the latter case, set the id.
    """
    if message_id in session.prompt_ids:
        return True
    if (
        session.prompt_message is None
        or session.transcript.message_of("user", message_id) is not None
    ):
        return False
    text = "".join(part for part in parts if isinstance(part, str))
    if session.echo and not (text and session.echo.startswith(text)):
        return False
    turns.name_prompt(session, message_id)
    return True


def restore_blocks(content: schema.TextContent) -> Iterator[Any]:
    """Yield the blocks of a replayed prompt, each `<context ref=…>` as an embedded resource."""
    text, at = content.text, 0
    for match in _CONTEXT.finditer(text):
        if before := text[at : match.start()]:
            yield schema.TextContent(before, content.annotations)
        yield schema.EmbeddedResource(schema.TextResourceContents(match[2], match[1]))
        at = match.end()
    if at < len(text):
        yield schema.TextContent(text[at:], content.annotations)
