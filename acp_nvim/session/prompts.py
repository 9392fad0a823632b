"""A prompt as the user means it, and the content blocks that an agent can take (v1/content,
v1/prompt-turn).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp_nvim.protocol import schema


@dataclass(slots=True, frozen=True)
class Excerpt:
    """Lines of a buffer: `first` and `last` are 1-based and inclusive, `text` is what they hold
    now.
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
        return Path(self.path).as_uri() + lines

    @property
    def name(self) -> str:
        """What people call it: `main.py:3-9`."""
        lines = f":{self.first}-{self.last}" if self.first else ""
        return Path(self.path).name + lines


@dataclass(slots=True, frozen=True)
class FileLink:
    """A file that the agent may read by itself."""

    path: str
    size: int | None = None
    mime_type: str | None = None


Attachment = Excerpt | FileLink


@dataclass(slots=True, eq=False)
class Prompt:
    """What the user wants to send. `blocks` are made when it is sent, for the agent that gets
    it.
    """

    text: str
    attachments: Sequence[Attachment] = ()
    blocks: list[Any] = field(default_factory=list)
    given: Sequence[Any] = ()
    """Content blocks that a caller made himself; they go out as they are."""

    def build(self, capabilities: schema.PromptCapabilities) -> list[Any]:
        """Return the blocks, each of a kind that the agent takes: the words first, then what goes
        with them.
        """
        words = [schema.TextContent(self.text)] if self.text else []
        self.blocks = [
            *words,
            *self.given,
            *(_block(item, capabilities) for item in self.attachments),
        ]
        return self.blocks


def _block(item: Attachment, capabilities: schema.PromptCapabilities) -> Any:
    if isinstance(item, FileLink):
        path = Path(item.path)
        return schema.ResourceLink(
            uri=path.as_uri(), name=path.name, **_known(size=item.size, mime_type=item.mime_type)
        )
    if capabilities.embedded_context:
        contents = schema.TextResourceContents(
            uri=item.uri, text=item.text, **_known(mime_type=item.mime_type)
        )
        return schema.EmbeddedResource(contents)
    return schema.ResourceLink(uri=item.uri, name=item.name, **_known(mime_type=item.mime_type))


def _known(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
