"""Verbs for the authors of lines: show them in a buffer, open their prompts, export them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.app import Host
from acp_nvim.edits.text import Text
from acp_nvim.features.blame import words
from acp_nvim.files.bytes import roots
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.checkpoints.store import StoreError
from acp_nvim.files.ports import BufferText
from acp_nvim.host.exports import write_lines
from acp_nvim.protocol.text import clean_text
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Message
from acp_nvim.verbs import Args, verb

if TYPE_CHECKING:
    from acp_nvim.history.blames import Author, FileAuthors

NOTES = "refs/notes/acp"
"""Ref of the notes if the user names none."""


@verb("blame")
async def blame(host: Host, args: Args) -> None:
    """Send the authors of a file's lines to its buffer. `path` has its links resolved."""
    path = str(args["path"])
    await host.workspace.persistence.adopt_writes()  # also of killed processes
    live = await host.workspace.files.buffers.read(Place(path, path))
    if not isinstance(live, BufferText):
        return
    by_path = await _authors_by_path(host, {path: live.text})
    if by_path is not None:
        file = by_path[path]
        ranges = [number for lines in file.ranges for number in lines]
        authors = [_author_table(number, author) for number, author in file.authors.items()]
        host.screen.push("blame", live.bufnr, live.tick, ranges, authors)


def _author_table(number: int, author: Author) -> dict[str, Any]:
    names = ("agent", "sent", "prompt", "words")
    return {"id": number, **{name: getattr(author, name) for name in names}}


@verb("blame_open")
async def open_prompt(host: Host, args: Args) -> None:
    """Show the chat of the session that wrote a line, at the prompt that caused the change."""
    author: Author | None = await host.transcripts.ask("author", int(args["author"]))
    stored = author and author.record and await host.transcripts.ask("session", author.record)
    if author is None or not stored:
        host.echo("info", wording.HISTORY_SESSION_MISSING)
        return
    conversation = await host.transcripts.open(stored)
    turn = None if conversation is None else _turn_number(conversation.session, author.sent)
    if conversation is not None and turn is not None:
        host.screen.push("chat_turn", conversation.session.n, turn)


def _turn_number(session: Session, sent: float) -> int | None:
    """Return the 1-based number of the turn in the chat whose prompt was sent at that time."""
    messages = (entry for entry in session.transcript.entries if isinstance(entry, Message))
    prompts = (entry for entry in messages if entry.role == "user")
    return next((n for n, prompt in enumerate(prompts, 1) if prompt.sent == sent), None)


@verb("blame_export")
async def export(host: Host, args: Args) -> None:
    """Export the lines that agents wrote in the workspace as an Agent Trace.

    The trace goes to a file, to a window or, with the option `blame_export`, to a git note on HEAD.
    """
    root = roots.root_of(str(args["cwd"]))
    await host.workspace.persistence.adopt_writes()
    paths = await host.transcripts.ask("blamed_paths", clean_text(root))
    if paths is None:
        return
    option = host.settings().blame_export
    ref = {"trace": "", "notes": NOTES}.get(option, option)
    if ref and not args.get("file"):
        await _add_note(host, root, paths, ref)
        return
    lines = _trace(root, await _authors_by_path(host, await _current_texts(host, paths)) or {})
    if not lines:
        host.echo("info", words.BLAME_NOTHING)
    elif not args.get("file"):
        host.screen.push("show", "acp://blame-export", "json", lines)
    elif write_lines(host, Path(str(args["file"])), lines):
        host.echo("info", words.BLAME_EXPORTED.format(path=args["file"]))


async def _add_note(host: Host, root: str, paths: list[str], ref: str) -> None:
    """Add a note to the commit at HEAD that lists the lines in it that agents wrote."""
    from acp_nvim.files.checkpoints import git_notes

    try:
        commit = await to_thread.run_sync(git_notes.head, root, os.environ)
        texts = await to_thread.run_sync(git_notes.texts, commit, paths, os.environ)
        lines = _trace(root, await _authors_by_path(host, texts) or {}, commit.id)
        if not lines:
            host.echo("info", words.BLAME_NOT_COMMITTED)
            return
        note = ("\n".join(lines) + "\n").encode()
        await to_thread.run_sync(git_notes.write, commit, ref, note, os.environ)
    except git_notes.NotNotedError as error:
        host.echo("warn", str(error))
    except StoreError as error:
        host.echo("warn", words.NOTES_FAILED.format(reason=error))
    else:
        host.echo("info", words.BLAME_NOTED.format(commit=commit.id[:10], ref=ref))


async def _current_texts(host: Host, paths: list[str]) -> dict[str, Text]:
    """Return the current texts of files. Files that are missing or not text are left out."""
    texts: dict[str, Text] = {}
    for path in paths:
        try:
            text = await host.workspace.live.text(path)
        except Refusal:
            continue
        if text is not None:
            texts[path] = text
    return texts


async def _authors_by_path(
    host: Host, texts: Mapping[str, Text]
) -> Mapping[str, FileAuthors] | None:
    """Return the authors of texts by path. Without a history, tell the user and return None."""
    keys = {clean_text(path): path for path in texts}
    texts_by_key = {key: texts[path] for key, path in keys.items()}
    answer: Mapping[str, FileAuthors] | None = await host.transcripts.ask("blame", texts_by_key)
    return None if answer is None else {keys[key]: authors for key, authors in answer.items()}


def _trace(root: str, authors_by_path: Mapping[str, FileAuthors], revision: str = "") -> list[str]:
    """Return the lines of an Agent Trace, or an empty list if agents wrote none of the texts."""
    from acp_nvim import __version__
    from acp_nvim.history.agent_trace import trace

    prefix = root.rstrip("/") + "/"
    files = {path.removeprefix(prefix): authors for path, authors in authors_by_path.items()}
    record = trace(files, __version__, time.time(), revision)
    if not record["files"]:
        return []
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode().split("\n")
