"""A prompt of the user, and the content blocks that an agent can take of it (v1/content,
v1/prompt-turn).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct, field

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.protocol.fence import quoted

BUFFER_URI = "nvim://buffer/"
VARIABLE_URI = "nvim://context/"
"""Prefix of a variable's URI: editor state is no file."""
FRESH_S = 0.05
"""Within so long nothing has become of what a prompt tells of Neovim's buffers."""
LINE = 100_000
"""The most characters of one line of a prompt that the chat shows."""


def suggested(blocks: Sequence[Any]) -> str:
    """Return a prompt that an agent suggests as the user would write it, a file as `@path`; empty
    where it has more than text and links.
    """
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, schema.TextContent):
            texts.append(block.text)
        elif isinstance(block, schema.ResourceLink):
            parts = urlsplit(block.uri)
            texts.append(f"@{unquote(parts.path)}" if parts.scheme == "file" else block.uri)
        else:
            return ""
    return "".join(texts).strip()


class Excerpt(Struct, frozen=True):
    """Text of a buffer or file as it is now: its lines `first` to `last`, 1-based and inclusive, or
    all of it. The path of a buffer without a file is `nvim://buffer/{number}`.
    """

    path: str
    text: str
    first: int | None = None
    last: int | None = None
    mime_type: str | None = None

    @property
    def uri(self) -> str:
        """`file:` URI, with the lines as its fragment."""
        lines = f"#L{self.first}-L{self.last}" if self.first else ""
        return (self.path if self.no_file else Path(self.path).as_uri()) + lines

    @property
    def no_file(self) -> bool:
        """Whether its buffer has no file, so that no link leads there."""
        return self.path.startswith(BUFFER_URI)

    @property
    def name(self) -> str:
        """The name that the user reads: `main.py:3-9`, `main.py:3`."""
        end = f"-{self.last}" if self.last != self.first else ""
        lines = f":{self.first}{end}" if self.first else ""
        name = Path(self.path).name
        return (f"buffer {name}" if self.no_file else name) + lines


class FileLink(Struct, frozen=True):
    """A file that the agent may read by itself; `size` in bytes."""

    path: str
    size: int | None = None
    mime_type: str | None = None


class Media(Struct, frozen=True):
    """An image or a sound: `data` is base64, `size` counts the bytes it stands for."""

    kind: Literal["image", "audio"]
    path: str
    data: str
    mime_type: str
    size: int


class Variable(Struct, frozen=True):
    """A variable of the editor (`{diagnostics}`), resolved when the prompt was sent."""

    name: str
    text: str


Attachment = Excerpt | FileLink | Media | Variable


class Prompt(Struct, eq=False):
    """A prompt of the user. Its blocks are built when it is sent, for the agent that gets it."""

    text: str
    attachments: Sequence[Attachment] = ()
    blocks: list[Any] = field(default_factory=list)
    given: Sequence[Any] = ()
    """Content blocks of a Lua caller, in place of the text."""
    meta: Mapping[str, Any] | None = None
    """`_meta` of the request (v1/extensibility)."""
    late: Callable[[], Awaitable[Sequence[Attachment]]] | None = None
    """Resolves further attachments at the moment of sending."""
    delivery: int | None = None
    """Number of the prompt in Neovim (`lua/acp/ui/composer/delivery.lua`)."""
    untyped: Any = None
    """What goes along that the user did not type, and is asked about before the prompt goes
    (`features/prompts/untyped_mentions.py`); None if there is nothing.
    """
    unsaved: Mapping[str, Any] | None = None
    """The texts that were not saved when it was sent, by path; None: not known."""
    made: float = field(default_factory=time.monotonic)
    """When that was, in seconds of a clock without a date."""
    free: bool = False
    """It may go while other prompts are held (`session/queue.py`)."""
    number: int | None = None
    """Its number among the prompts of its session, once it is about to be sent; 1 is the first."""
    left_out: list[str] = field(default_factory=list)
    """One line for each attachment that the agent cannot take in any form."""

    def fresh_unsaved(self, now: float) -> Mapping[str, Any] | None:
        """Return `unsaved` where that cannot have changed since, ``now`` on the monotonic clock."""
        return self.unsaved if now - self.made < FRESH_S else None

    def count_as(self, number: int) -> None:
        """It is the prompt of that number in its session."""
        self.number = number

    async def complete(self) -> None:
        """Resolve late attachments, once, at the moment of sending."""
        late, self.late = self.late, None
        if late is not None:
            self.attachments = [*self.attachments, *await late()]

    @property
    def label(self) -> str:
        """The line for lists: its words, else the names of its attachments."""
        if self.text.strip():
            return self.text
        names = [*map(block_name, self.given), *(Path(path).name for path in self.files())]
        return f"[{', '.join(names)}]" if names else self.text

    def files(self) -> list[str]:
        """Return the paths of attached files."""
        whole = [
            item
            for item in self.attachments
            if not isinstance(item, Variable) and not (isinstance(item, Excerpt) and item.first)
        ]
        return [item.path for item in whole]

    def ranges(self) -> list[dict[str, Any]]:
        """Return the attached lines: `{path, first, last}`."""
        lines = [it for it in self.attachments if isinstance(it, Excerpt) and it.first]
        return [{"path": it.path, "first": it.first, "last": it.last} for it in lines]

    def build(self, capabilities: schema.PromptCapabilities) -> list[Any]:
        """Return the blocks, each of a kind that the agent takes: the words first, then the
        attachments.

        A slash command comes last: agents that read the last text as the command find it there,
        those that read the first find nothing but attachments before it.
        """
        self.left_out = []
        words: list[Any] = list(self._words(capabilities))
        rest = [_block(item, capabilities) for item in self.attachments]
        if self.text.startswith("/"):
            self.blocks = [*rest, *words]
        else:
            self.blocks = [*ended(words, rest), *rest]
        return self.blocks

    def _words(self, capabilities: schema.PromptCapabilities) -> Iterator[Any]:
        if not self.given:
            if self.text:
                yield schema.TextContent(self.text)
            return
        for block in self.given:
            fitting = fit(block, capabilities)
            if fitting is None:
                self.left_out.append(wording.BLOCK_LEFT_OUT.format(what=block_name(block)))
            else:
                yield fitting


def ended(words: list[Any], rest: list[Any]) -> list[Any]:
    """Return the words with a line break at their end, if an attachment follows that some agents
    write behind them as `@uri`: it would become a part of the last word.
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


def shown(text: str) -> str:
    """Return the words as the chat shows them; very long lines, which Neovim draws slowly, are
    cut.
    """
    if len(text) <= LINE:
        return text
    return "\n".join(map(_beginning, text.split("\n")))


def _beginning(line: str) -> str:
    return line if len(line) <= LINE else f"{line[:LINE]}… (of {len(line)} characters)"


def fit(block: Any, capabilities: schema.PromptCapabilities) -> Any | None:
    """Return a block that this agent takes: itself, or a link or a text in its place, or None."""
    match block:
        case schema.ImageContent() if not capabilities.image:
            return _link_to(block.uri, block.mime_type)
        case schema.AudioContent() if not capabilities.audio:
            return None
        case schema.EmbeddedResource() if not capabilities.embedded_context:
            contents: Any = block.resource
            if isinstance(contents, schema.TextResourceContents):
                return schema.TextContent("\n\n" + quoted(contents.uri, contents.text) + "\n")
            return _link_to(contents.uri, contents.mime_type)
        case _:
            return block


def block_name(block: Any) -> str:
    """Return the user's name of a content block: `image (image/png)`."""
    kind = str(block.__struct_config__.tag)
    mime = getattr(block, "mime_type", None)
    return f"{kind} ({mime})" if mime else kind


def _link_to(uri: Any, mime_type: Any) -> Any | None:
    """A link in place of the content; None for content that has no address."""
    if not uri:
        return None
    name = uri.rstrip("/").rpartition("/")[2] or uri
    return schema.ResourceLink(uri=uri, name=name, **_known(mime_type=mime_type or None))


def _block(item: Attachment, capabilities: schema.PromptCapabilities) -> Any:
    match item:
        case Variable():
            return _variable(item, capabilities)
        case Media():
            return _media(item, capabilities)
        case FileLink():
            path = Path(item.path)
            known = _known(size=item.size, mime_type=item.mime_type)
            return schema.ResourceLink(uri=path.as_uri(), name=path.name, **known)
    if capabilities.embedded_context:
        contents = schema.TextResourceContents(
            uri=item.uri, text=item.text, **_known(mime_type=item.mime_type)
        )
        return schema.EmbeddedResource(contents)
    if item.no_file:
        return schema.TextContent("\n\n" + quoted(item.name, item.text) + "\n")
    return schema.ResourceLink(uri=item.uri, name=item.name, **_known(mime_type=item.mime_type))


def _media(item: Media, capabilities: schema.PromptCapabilities) -> Any:
    path = Path(item.path)
    if item.kind == "image" and capabilities.image:
        return schema.ImageContent(item.data, item.mime_type, uri=path.as_uri())
    if item.kind == "audio" and capabilities.audio:
        return schema.AudioContent(item.data, item.mime_type)
    return schema.ResourceLink(
        uri=path.as_uri(), name=path.name, mime_type=item.mime_type, size=item.size
    )


def aside(name: str, text: str, capabilities: schema.PromptCapabilities) -> Any:
    """Return a text of ours that goes with the user's words, in the form that the agent takes."""
    return _variable(Variable(name, text), capabilities)


def _variable(item: Variable, capabilities: schema.PromptCapabilities) -> Any:
    """A resource where the agent takes them; else a text of its own, since no link leads into the
    editor.
    """
    if not capabilities.embedded_context:
        return schema.TextContent("\n\n" + quoted(item.name, item.text) + "\n")
    return schema.EmbeddedResource(
        schema.TextResourceContents(
            uri=VARIABLE_URI + item.name, text=item.text, mime_type="text/plain"
        )
    )


def _known(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
