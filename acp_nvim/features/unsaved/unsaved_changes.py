"""Unsaved changes in prompts, for agents that read files on disk (option `files.unsaved`)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from anyio import to_thread

from acp_nvim.agent.observers import TurnStart
from acp_nvim.edits import unified
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.features.unsaved import words
from acp_nvim.files.bytes import disk, guard, key_files
from acp_nvim.files.bytes.file_format import FILEENCODINGS, FILEFORMATS, clean
from acp_nvim.files.bytes.paths import Place, below, place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.ports import FileOptions
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.session.calls.named_files import named_files
from acp_nvim.session.calls.own_tools import own_tool
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.prompts import Prompt, Variable
from acp_nvim.session.session import Session

NAME: Final = "unsaved"
"""Name of the variable that is attached to the prompt."""
MAX_DIFF: Final = 100_000
"""Maximum number of characters of a file's diff.

If it is longer, only the name of the file is sent.
"""
HEADING: Final = "Unsaved changes in the user's editor; the files on disk lack them:"


class UnsavedChanges:
    """Unsaved text, and the part of it that each session's agent knows."""

    def __init__(
        self,
        buffers: NvimBuffers,
        options: Callable[[], FileOptions],
        choose: Callable[[str, Sequence[str], str], Awaitable[int | None]],
    ) -> None:
        """`choose` asks the user a question, with its answers and its kind."""
        self._buffers = buffers
        self._options = options
        self._choose = choose
        self._readers: set[str] = set()
        """Agents that have read a file through the editor without editing it."""
        self._others: set[str] = set()
        """Agents that have had a turn without reading all files through the editor."""
        self._disk_readers: set[str] = set()
        """Agents that read some or all files on disk."""
        self._read_files: dict[int, set[str]] = {}
        """Files that the agent has read through the editor in the current turn, by session."""
        self._first_call: dict[int, int] = {}
        """Index of the first tool call of the current turn, by session."""
        self._sent: dict[int, dict[str, SentText]] = {}
        """Changes that each session's agent knows, by path."""
        self._joined: dict[int, list[UnsavedFile]] = {}
        """Changes attached to a prompt that is not sent yet, by session."""

    def on_file_read(self, session: Session, path: str) -> None:
        """Record that the agent reads a file through the editor, with its unsaved text."""
        self._read_files.setdefault(session.root.n, set()).add(os.path.realpath(path))

    async def on_turn_ended(self, session: Session) -> None:
        """Determine at the end of a turn how the agent reads files.

        It reads files on disk if a tool call has read a file that it has not read through the
        editor. It reads through the editor if it has read a file there that it did not edit: an
        edit may read the file to replace a part of it.
        """
        first, seen = self._first_call.get(session.n, 0), self._read_files.pop(session.n, set())
        calls = [session.tool_calls.at(index) for index in range(first, len(session.tool_calls))]
        self._first_call[session.n] = len(session.tool_calls)
        completed = [call for call in calls if call.status == "completed"]
        if seen - set(_named_files(session, calls, "edit")):
            self._readers.add(session.agent)
        if _has_file(set(_named_files(session, completed, "read")) - seen):
            self._disk_readers.add(session.agent)
        if not self._reads_through_editor(session):
            self._others.add(session.agent)

    def _reads_through_editor(self, session: Session) -> bool:
        """Return whether the agent is known to read all files through the editor."""
        return session.agent in self._readers - self._disk_readers

    async def on_turn_starting(self, turn: TurnStart) -> None:
        """Attach unsaved changes to a prompt that is about to be sent."""
        if not turn.is_at_agent:
            await self.attach(turn.session, turn.prompt, turn.texts, embeds=turn.can_embed)

    async def attach(
        self,
        session: Session,
        prompt: Prompt,
        texts: Mapping[str, Text] | None = None,
        *,
        embeds: bool,
    ) -> None:
        """Attach unsaved changes that the agent does not know to a prompt before it is sent.

        `texts` are the texts of all buffers with unsaved edits, or None if not known yet.
        `embeds` means that the agent supports embedded resources. Otherwise the attachment would
        be part of the user's text, so it is left out until the agent is known to read files on
        disk.
        """
        prompt.attachments = [
            attachment for attachment in prompt.attachments if not _is_unsaved_variable(attachment)
        ]
        self._joined.pop(session.n, None)
        self._first_call[session.n] = len(session.tool_calls)
        option = self._options().unsaved
        must_wait = option == "attach" and not embeds and session.agent not in self._others
        is_known = self._reads_through_editor(session) or not session.shares_files
        if option == "ignore" or is_known or must_wait:
            return
        files = await self._unsaved_files(session, texts)
        named = [file.name for file in files if file.sent]
        if option == "ask" and named:
            option = await self._choice(named)
        if option == "save" and named:
            await self._save(session, files)
            files = await self._unsaved_files(session, None)
        if files and option != "ignore" and not prompt.text.startswith("/"):
            patches = "".join(file.patch for file in files)
            if patches and not _has_diff(prompt):
                added = Variable(NAME, f"{HEADING}\n\n{patches}")
                prompt.attachments = [*prompt.attachments, added]
            self._joined[session.n] = files

    async def _save(self, session: Session, files: Sequence[UnsavedFile]) -> None:
        problems = await self._buffers.save([file.path for file in files if file.sent])
        for path, why in problems.items():
            session.notice("warning", words.NOT_SAVED.format(file=path, reason=why))

    async def _unsaved_files(
        self, session: Session, texts: Mapping[str, Text] | None
    ) -> list[UnsavedFile]:
        sent = self._sent.get(session.n, {})
        if texts is None:
            texts = await self._buffers.unsaved()
        if not texts and not sent:
            return []
        scope = session.cwd, session.roots, self._options()
        return await to_thread.run_sync(_unsaved_files, texts, sent, *scope)

    async def _choice(self, names: Sequence[str]) -> Any:
        """Ask the user what to do with unsaved changes. Return a value of `files.unsaved`."""
        values = ("attach", "save", "ignore")
        answers = [words.UNSAVED_ATTACH, words.UNSAVED_SAVE, words.UNSAVED_IGNORE]
        question = words.UNSAVED_ASK.format(files=", ".join(names))
        picked = await self._choose(question, answers, "unsaved")
        return "ignore" if picked is None else values[picked]

    def on_prompt_sent(self, session: Session, prompt: Prompt) -> None:
        """Record that the agent knows the changes attached to a prompt."""
        sent = self._sent.setdefault(session.n, {})
        for file in self._joined.pop(session.n, ()):
            if file.sent is None:
                sent.pop(file.path, None)
            else:
                sent[file.path] = file.sent

    def on_prompt_returned(self, session: Session, prompt: Prompt) -> None:
        """Assume that the agent knows no changes, so that the next prompt has all of them."""
        self._sent.pop(session.n, None)
        self._joined.pop(session.n, None)


def _named_files(session: Session, calls: Sequence[ToolCall], kind: str) -> Iterator[str]:
    """Yield the files that the agent's own tool calls of a kind name."""
    for call in calls:
        if call.kind == kind and not own_tool(call, session.tools):
            yield from named_files(call, session.cwd)


def _has_file(paths: Iterable[str]) -> bool:
    return any(map(os.path.isfile, paths))


def _has_diff(prompt: Prompt) -> bool:
    """Return whether the variable `{diff}` is attached, which also contains unsaved changes.

    `{diff}` is the only variable that is resolved when the prompt is sent (`Prompt.late`).
    """
    is_named = any(
        isinstance(attachment, Variable) and attachment.name == "diff"
        for attachment in prompt.attachments
    )
    return is_named or prompt.late is not None


def _is_unsaved_variable(item: object) -> bool:
    return isinstance(item, Variable) and item.name == NAME


# -- unsaved text as diffs; each change is sent once -----------------------------------------------


class SentText(msgspec.Struct, frozen=True):
    """State of a file as sent to an agent: its unsaved text, and the text on disk at that time."""

    text: Text
    saved: Text


class UnsavedFile(msgspec.Struct, frozen=True):
    """File whose unsaved text the agent does not know."""

    path: str
    name: str
    """Path relative to the session's directory."""
    patch: str
    sent: SentText | None
    """State of the file after it is sent, or None if its text is the same as on disk again."""


def _unsaved_files(
    texts: Mapping[str, Text],
    known_texts: Mapping[str, SentText],
    cwd: str,
    roots: Sequence[str],
    options: FileOptions,
) -> list[UnsavedFile]:
    """Return the changes of unsaved `texts` to send to an agent that knows `known_texts`.

    Both are by path. Secrets, and files outside of the session's directories, are left out. This
    call blocks.
    """
    files: list[UnsavedFile] = []
    for where in _places(texts, roots, options):
        text = clean(texts[where.path])
        saved = _text_on_disk(where, options)
        if saved is None or key_files.is_secret(where, text, str(text), whole=True):
            continue
        before = known_texts.get(where.path)
        known = before.text if before is not None and before.saved == saved else saved
        files += _file(where, cwd, known, text, SentText(text, saved))
    for path in known_texts.keys() - texts.keys():
        saved = _text_on_disk(place(path), options)
        if saved is not None:
            files += _file(place(path), cwd, known_texts[path].text, saved, None)
    return files


def _places(
    texts: Mapping[str, Text], roots: Sequence[str], options: FileOptions
) -> Iterator[Place]:
    for path in sorted(texts):
        with suppress(Refusal):
            where = place(path)
            inside = below(where.real, roots)
            if inside is not None and guard.by_name(where, inside, "read", options) is None:
                yield where


def _text_on_disk(where: Place, options: FileOptions) -> Text | None:
    """Return the text on disk: empty if there is no file, None if the file is not text."""
    try:
        stored = disk.read_decoded(where, options.message_bytes, FILEENCODINGS, FILEFORMATS)
    except Refusal:
        return None
    return EMPTY if stored is None else stored.text


def _file(
    where: Place, cwd: str, known: Text, text: Text, sent: SentText | None
) -> Iterator[UnsavedFile]:
    """Yield the file if its text differs from the one that the agent knows."""
    is_inside = below(where.real, [cwd]) is not None
    name = os.path.relpath(where.real, os.path.realpath(cwd)) if is_inside else where.real
    patch = unified.format_patch(name, known, text)
    if len(patch) > MAX_DIFF:
        patch = f"{name}: changed, too long to show ({len(text.lines)} lines)\n"
    if patch or sent is None:
        yield UnsavedFile(where.path, name, patch, sent)
