"""Prompt of an inline edit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.agent.prompts.media import TEXT_BYTES, mime_of
from acp_nvim.app import Host
from acp_nvim.host.prompting import prompt_of
from acp_nvim.protocol import schema
from acp_nvim.session.prompts import Attachment, Excerpt, FileLink, Prompt
from acp_nvim.verbs import Args

TASK: Final = """{instruction}

Make this change in place, in {place}.{attached} Change nothing but {scope}. Read the rest of the \
file, and other files, if you need the context. Make the change by writing the file. Do not answer \
with the code and do not explain the change: the file is all that counts."""


COMMAND: Final = re.compile(r"/[\w:-]+(?:\s|$)")


class Lines(msgspec.Struct, frozen=True):
    """Lines to change, with their current text in the editor. Without `first`, the whole file."""

    path: str
    text: str
    first: int | None = None
    last: int | None = None

    @property
    def place(self) -> str:
        """Return the place in words."""
        if self.first is None:
            return f"the file {self.path}"
        if self.first == self.last:
            return f"line {self.first} of {self.path}"
        return f"lines {self.first} to {self.last} of {self.path}"

    @property
    def noun(self) -> str:
        if self.first is None:
            return "this file"
        return "this line" if self.first == self.last else "these lines"


def edit_prompt(host: Host, args: Args) -> Prompt:
    """Return the prompt for the arguments of the verb `edit`.

    Its text is the instruction, as queue, lists and history show it. The agent gets the whole task,
    unless the instruction is a `/command`, which accepts no other text.
    """
    prompt = prompt_of(host, args)
    lines = msgspec.convert(args["edit"], Lines)
    is_small = len(lines.text) <= TEXT_BYTES
    instruction = prompt.text.strip()
    task = TASK.format(
        instruction=instruction,
        place=lines.place,
        attached=f" {_attachment_text(lines)}" if is_small else "",
        scope=lines.noun,
    )
    attachments = [*([_excerpt(lines)] if is_small else []), *_file_link(lines, is_small=is_small)]
    return msgspec.structs.replace(
        prompt,
        given=[schema.TextContent(instruction if COMMAND.match(instruction) else task)],
        attachments=[*attachments, *prompt.attachments],
    )


def _attachment_text(lines: Lines) -> str:
    is_one = lines.first == lines.last
    verb, pronoun = ("is", "it") if is_one else ("are", "them")
    return f"{lines.noun.capitalize()} {verb} attached as the editor has {pronoun} now."


def _excerpt(lines: Lines) -> Attachment:
    mime = mime_of(lines.path, b"")
    return Excerpt(lines.path, lines.text, lines.first, lines.last, mime, is_quoted=True)


def _file_link(lines: Lines, *, is_small: bool) -> list[Attachment]:
    """Return a link to the file, unless its whole text is attached or it does not exist."""
    path = Path(lines.path)
    if (is_small and lines.first is None) or not path.is_file():
        return []
    return [FileLink(lines.path, path.stat().st_size, mime_of(lines.path, b"") or None)]
