"""Verbs about prompts: send, cancel, the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.agent.conversation import Conversation
from acp_nvim.editor.host import Host
from acp_nvim.editor.verbs import Args, verb
from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.errors import RemoteProtocolError
from acp_nvim.session.prompts import Attachment, Excerpt, FileLink, Prompt


@verb("prompt")
def prompt(host: Host, args: Args) -> None:
    """Send a prompt, in a new session where none is or one is asked for."""
    conversation = None if args.get("new") else host.conversation(args.get("session"))
    wanted = args.get("agent")
    if (
        conversation is None
        or conversation.session.status == "closed"
        or (wanted and conversation.session.agent != wanted)
    ):
        conversation = host.new_session(args["cwd"], wanted)
    blocks = [_block(block) for block in args.get("blocks") or ()]
    text = args.get("text") or " ".join(b.text for b in blocks if isinstance(b, schema.TextContent))
    given = blocks if args.get("blocks") else ()
    sent = Prompt(text if not given else "", _attachments(args), given=given)
    if not sent.text and not sent.given and not sent.attachments:
        host.echo("warn", "an empty prompt is not sent")
        return
    conversation.submit(sent)
    if host.settings().chat.open:
        host.screen.push("open_chat", conversation.session.n)


def _block(block: Args) -> Any:
    try:
        return codec.decode(schema.ContentBlock, msgspec.json.encode(block))  # type: ignore[arg-type]
    except RemoteProtocolError as error:
        raise msgspec.ValidationError(f"not a content block: {error}") from error


def _attachments(args: Args) -> list[Attachment]:
    """The range that the command was given, then files."""
    found: list[Attachment] = []
    lines = args.get("range")
    if lines:
        found.append(
            Excerpt(_path(lines, args), lines["text"], lines.get("first"), lines.get("last"))
        )
    found += [_file(path) for path in args.get("attach") or ()]
    return found


def _path(lines: Args, args: Args) -> str:
    """A buffer without a name still needs an absolute path."""
    path = lines.get("path") or f"buffer-{lines.get('bufnr', 0)}"
    return str(Path(args["cwd"]) / path)


def _file(path: str) -> FileLink:
    file = Path(path)
    return FileLink(path, file.stat().st_size if file.is_file() else None)


@verb("cancel")
def cancel(host: Host, args: Args) -> None:
    """Cancel the running turn; with `clear` the queue is dropped as well."""
    conversation = host.conversation(args.get("session"))
    cleared = bool(args.get("clear")) and conversation is not None and _clear(conversation)
    if conversation is None or not conversation.cancel():
        host.echo("info", "the queue is empty now" if cleared else "nothing to cancel")


def _clear(conversation: Conversation) -> bool:
    had = bool(conversation.session.queue)
    conversation.set_queue(())
    return had


@verb("queue")
def queue(host: Host, args: Args) -> None:
    """Replace, run or drop the waiting prompts."""
    conversation = host.conversation(args.get("session"))
    if conversation is None:
        host.echo("info", "no session, no queue")
        return
    match args.get("action"):
        case "run":
            conversation.run_queue()
        case "clear":
            _clear(conversation)
        case "set":
            _set_queue(conversation, args.get("texts") or [])


def _set_queue(conversation: Conversation, texts: list[str]) -> None:
    """A prompt whose words did not change keeps its attachments."""
    before = list(conversation.session.queue)
    after: list[Prompt] = []
    for text in texts:
        same = next((item for item in before if item.text == text), None)
        if same is not None:
            before.remove(same)
        after.append(same or Prompt(text))
    conversation.set_queue(after)
