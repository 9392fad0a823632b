"""Verb for pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anyio import to_thread

from acp_nvim.app import Host
from acp_nvim.features.pictures import images
from acp_nvim.files.bytes import private_files
from acp_nvim.protocol import schema
from acp_nvim.session import content_blocks
from acp_nvim.verbs import Args, verb


@verb("picture")
async def picture(host: Host, args: Args) -> None:
    """Write the image of a content block to `file` as PNG. Reply with its width and height.

    Reply with false if the block has no image that can be drawn.
    """
    n = int(args["session"])
    conversation = host.sessions.conversation(n)
    session = host.subagents.get(n) or (conversation and conversation.session)
    block = content_blocks.find(session, args["where"]) if session else None
    image = await images.png(_data(block))
    size = await to_thread.run_sync(_write, Path(args["file"]), image) if image else False
    host.screen.push("reply", args["id"], size)


def _write(path: Path, image: images.Png) -> list[int] | bool:
    data, width, height = image
    try:
        private_files.write_new(path, data)
    except OSError:
        return False  # Neovim is ending and has removed its temporary files
    return [width, height]


def _data(block: Any) -> str:
    """Return the base64 data of an image, or an empty string."""
    match block:
        case schema.ImageContent():
            return block.data
        case schema.EmbeddedResource():
            return getattr(block.resource, "blob", "")
        case _:
            return ""
