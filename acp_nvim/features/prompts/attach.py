"""The verb `attach`: files and the clipboard's image for the next prompt."""

from __future__ import annotations

import base64
import time
from pathlib import Path

from acp_nvim.agent.prompts.media import mime_of
from acp_nvim.app import Host
from acp_nvim.files.bytes import private_files
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.verbs import Args, verb


@verb("attach")
async def attach(host: Host, args: Args) -> None:
    """Attach files and an image to the next prompt.

    The image is in the clipboard if `clipboard` is true, else in `image`, in base64.
    """
    paths = [str(path) for path in args.get("paths") or ()]
    if args.get("clipboard"):
        from acp_nvim.agent.prompts import clipboard

        try:
            data = await clipboard.image(agent_environment())
        except clipboard.NoImage as error:
            host.screen.push("clipboard_unread", args.get("composer"), str(error))
            return
        paths.append(str(_save_image(host, data)))
    if image := args.get("image"):
        paths.append(str(_save_image(host, base64.b64decode(image))))
    host.screen.push("attached", args.get("composer"), paths)


def _save_image(host: Host, data: bytes) -> Path:
    """Write the clipboard's image to a file in the cache, and return the path.

    Agents that do not support images get a link to the file.
    """
    suffix = (mime_of("", data) or "image/png").partition("/")[2]
    folder = host.options.cache("clipboard")
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{time.monotonic_ns() % 1000:03}.{suffix}"
    private_files.write(path, data, sync=False)
    return path
