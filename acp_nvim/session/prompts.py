"""User prompt, and its content blocks for an agent (v1/content, v1/prompt-turn)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.protocol.fence import fence_text
from acp_nvim.protocol.uris import split_uri, unquote_path

BUFFER_URI = "nvim://buffer/"
VARIABLE_URI = "nvim://context/"
"""Prefix of a variable's URI, because editor state is not a file."""
FRESH_S = 0.05
"""Seconds for which the unsaved texts sent with a prompt count as current."""
MAX_LINE = 100_000
"""Maximum number of characters that the chat shows of one line of a prompt."""


def suggestion_as_text(blocks: Sequence[Any]) -> str:
    """Return a suggested prompt as the user would write it, with files as `@path`.

    Return an empty string if it has anything but text and links.
    """
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, schema.TextContent):
            texts.append(block.text)
        elif isinstance(block, schema.ResourceLink):
            parts = split_uri(block.uri)
            texts.append(f"@{unquote_path(parts.path)}" if parts.scheme == "file" else block.uri)
        else:
            return ""
    return "".join(texts).strip()


class Excerpt(Struct, frozen=True):
    """Text of a buffer or file at the moment of sending.

    It has the lines `first` to `last`, 1-based and inclusive, or all of them. The path of a buffer
    without a file is `nvim://buffer/{number}`.
    """

    path: str
    text: str
    first: int | None = None
    last: int | None = None
    mime_type: str | None = None
    is_quoted: bool = False
    """Whether an agent without embedded context gets the excerpt as text instead of a link."""

    @property
    def uri(self) -> str:
        """Return the `file:` URI, with the lines as its fragment."""
        lines = f"#L{self.first}-L{self.last}" if self.first else ""
        return (self.path if self.has_no_file else Path(self.path).as_uri()) + lines

    @property
    def has_no_file(self) -> bool:
        """Return whether the buffer has no file, so that no link can point to it."""
        return self.path.startswith(BUFFER_URI)

    @property
    def name(self) -> str:
        """Return the name for the user: `main.py:3-9`, `main.py:3`."""
        end = f"-{self.last}" if self.last != self.first else ""
        lines = f":{self.first}{end}" if self.first else ""
        name = Path(self.path).name
        return (f"buffer {name}" if self.has_no_file else name) + lines


class FileLink(Struct, frozen=True):
    """Link to a file that the agent may read. `size` is in bytes."""

    path: str
    size: int | None = None
    mime_type: str | None = None


class Media(Struct, frozen=True):
    """Image or audio. `data` is base64, `size` the number of decoded bytes."""

    kind: Literal["image", "audio"]
    path: str
    data: str
    mime_type: str
    size: int


class Variable(Struct, frozen=True):
    """Variable of the editor (`{diagnostics}`), resolved when the prompt was sent."""

    name: str
    text: str


Attachment = Excerpt | FileLink | Media | Variable


class Prompt(Struct, eq=False):
    """User prompt. Its blocks are built when it is sent, for the receiving agent."""

    text: str
    attachments: Sequence[Attachment] = ()
    blocks: list[Any] = field(default_factory=list)
    given: Sequence[Any] = ()
    """Content blocks from a Lua caller, which replace the text."""
    meta: Mapping[str, Any] | None = None
    """Value for `_meta` of the request (v1/extensibility)."""
    late: Callable[[], Awaitable[Sequence[Attachment]]] | None = None
    """Function that resolves further attachments when the prompt is sent."""
    delivery: int | None = None
    """Number of the prompt in Neovim (`lua/acp/features/prompts/delivery.lua`)."""
    untyped: Any = None
    """Attachments that the user did not type and must confirm, or None.

    See `features/prompts/untyped_mentions.py`.
    """
    unsaved: Mapping[str, Any] | None = None
    """Unsaved texts by path at the time of sending, or None if unknown."""
    created_at: float = field(default_factory=time.monotonic)
    """Time of creation, in seconds of a monotonic clock."""
    passes_held: bool = False
    """Whether the prompt may be sent while others are held (`session/queue.py`)."""
    is_returned: bool = False
    """Whether the agent has returned the prompt without inserting it."""
    is_reason: bool = False
    """Whether the prompt is the reason for an answer to a question.

    Reasons go before all other prompts, or back to the composer if the session or agent ends first.
    """
    comments: str = ""
    """Comments and notes that were added to the end of `text`."""
    number: int | None = None
    """Number of the prompt in its session, from 1. It is set shortly before sending."""
    left_out: list[str] = field(default_factory=list)
    """One line for each attachment that the agent cannot accept in any form."""

    def fresh_unsaved(self, now: float) -> Mapping[str, Any] | None:
        """Return `unsaved` if it is still current. `now` is on the monotonic clock."""
        return self.unsaved if now - self.created_at < FRESH_S else None

    @property
    def own_text(self) -> str:
        """Return the text without the comments that were added to it."""
        return self.text.removesuffix(self.comments).rstrip()

    def set_number(self, number: int) -> None:
        """Set the prompt's number in the session."""
        self.number = number

    def move_files(self, moved: Callable[[str], str]) -> None:
        """Replace the paths of attached files and lines with the paths that `moved` returns."""
        self.attachments = [
            item
            if isinstance(item, Variable) or (isinstance(item, Excerpt) and item.has_no_file)
            else msgspec.structs.replace(item, path=moved(item.path))
            for item in self.attachments
        ]

    async def complete(self) -> None:
        """Resolve late attachments, once, at the moment of sending."""
        late, self.late = self.late, None
        if late is not None:
            self.attachments = [*self.attachments, *await late()]

    @property
    def label(self) -> str:
        """Return one line for lists: the text, or else the names of the attachments."""
        if self.text.strip():
            return self.text
        names = [*map(block_name, self.given), *(Path(path).name for path in self.files())]
        return f"[{', '.join(names)}]" if names else self.text

    def files(self) -> list[str]:
        return [
            item.path
            for item in self.attachments
            if not isinstance(item, Variable) and not (isinstance(item, Excerpt) and item.first)
        ]

    def ranges(self) -> list[dict[str, Any]]:
        """Return the attached lines: `{path, first, last}`."""
        lines = [item for item in self.attachments if isinstance(item, Excerpt) and item.first]
        return [{"path": line.path, "first": line.first, "last": line.last} for line in lines]

    def build(self, capabilities: schema.PromptCapabilities) -> list[Any]:
        """Return the blocks that the agent accepts: the text first, then the attachments.

        A slash command comes last. Some agents look for it in the last text, others in the first
        text. Only attachments precede it.
        """
        self.left_out = []
        words: list[Any] = list(self._text_blocks(capabilities))
        attached = [_block(item, capabilities) for item in self.attachments]
        if self.text.startswith("/"):
            self.blocks = [*attached, *words]
        else:
            self.blocks = [*end_with_newline(words, attached), *attached]
        return self.blocks

    def _text_blocks(self, capabilities: schema.PromptCapabilities) -> Iterator[Any]:
        if not self.given:
            if self.text:
                yield schema.TextContent(self.text)
            return
        for block in self.given:
            fitting = accepted_form(block, capabilities)
            if fitting is None:
                self.left_out.append(wording.BLOCK_LEFT_OUT.format(what=block_name(block)))
            else:
                yield fitting


def end_with_newline(words: list[Any], rest: list[Any]) -> list[Any]:
    """Return the text blocks with a final line break if an attachment follows.

    Some agents append it as `@uri`, which would become part of the last word.
    """
    last = words[-1] if words else None
    if (
        not rest
        or isinstance(rest[0], schema.TextContent)
        or not isinstance(last, schema.TextContent)
    ):
        return words
    if last.text.endswith("\n"):
        return words
    return [*words[:-1], msgspec.structs.replace(last, text=last.text + "\n")]


def text_for_chat(text: str) -> str:
    """Return the text for the chat. Very long lines are cut, because Neovim draws them slowly."""
    if len(text) <= MAX_LINE:
        return text
    return "\n".join(map(_cut_line, text.split("\n")))


def _cut_line(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… (of {len(line)} characters)"


def accepted_form(block: Any, capabilities: schema.PromptCapabilities) -> Any | None:
    """Return the block as the agent accepts it: unchanged, as a link or text, or None."""
    match block:
        case schema.ImageContent() if not capabilities.image:
            return _link_instead(block.uri, block.mime_type)
        case schema.AudioContent() if not capabilities.audio:
            return None
        case schema.EmbeddedResource() if not capabilities.embedded_context:
            contents: Any = block.resource
            if isinstance(contents, schema.TextResourceContents):
                return schema.TextContent("\n\n" + fence_text(contents.uri, contents.text) + "\n")
            return _link_instead(contents.uri, contents.mime_type)
        case _:
            return block


def block_name(block: Any) -> str:
    """Return the display name of a content block: `image (image/png)`."""
    kind = str(block.__struct_config__.tag)
    mime = getattr(block, "mime_type", None)
    return f"{kind} ({mime})" if mime else kind


def _link_instead(uri: Any, mime_type: Any) -> Any | None:
    """Return a link in place of the content, or None for content without an address."""
    if not uri:
        return None
    name = uri.rstrip("/").rpartition("/")[2] or uri
    return schema.ResourceLink(uri=uri, name=name, **_known_fields(mime_type=mime_type or None))


def _block(item: Attachment, capabilities: schema.PromptCapabilities) -> Any:
    match item:
        case Variable():
            return _variable(item, capabilities)
        case Media():
            return _media(item, capabilities)
        case FileLink():
            path = Path(item.path)
            known = _known_fields(size=item.size, mime_type=item.mime_type)
            return schema.ResourceLink(uri=path.as_uri(), name=path.name, **known)
    if capabilities.embedded_context:
        contents = schema.TextResourceContents(
            uri=item.uri, text=item.text, **_known_fields(mime_type=item.mime_type)
        )
        return schema.EmbeddedResource(contents)
    if item.has_no_file or item.is_quoted:
        return schema.TextContent("\n\n" + fence_text(item.name, item.text) + "\n")
    return schema.ResourceLink(
        uri=item.uri, name=item.name, **_known_fields(mime_type=item.mime_type)
    )


def _media(item: Media, capabilities: schema.PromptCapabilities) -> Any:
    path = Path(item.path)
    if item.kind == "image" and capabilities.image:
        return schema.ImageContent(item.data, item.mime_type, uri=path.as_uri())
    if item.kind == "audio" and capabilities.audio:
        return schema.AudioContent(item.data, item.mime_type)
    return schema.ResourceLink(
        uri=path.as_uri(), name=path.name, mime_type=item.mime_type, size=item.size
    )


def earlier_session_block(text: str, capabilities: schema.PromptCapabilities) -> Any:
    """Return the transcript of an earlier session, in a form that the agent accepts."""
    return _variable(Variable("earlier-session", text), capabilities)


def _variable(item: Variable, capabilities: schema.PromptCapabilities) -> Any:
    """Return an embedded resource if the agent accepts it, else a text.

    No link can point into the editor.
    """
    if not capabilities.embedded_context:
        return schema.TextContent("\n\n" + fence_text(item.name, item.text) + "\n")
    return schema.EmbeddedResource(
        schema.TextResourceContents(
            uri=VARIABLE_URI + item.name, text=item.text, mime_type="text/plain"
        )
    )


def _known_fields(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
