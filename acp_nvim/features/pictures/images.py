"""Images as PNG, which all terminals with graphics support.

Other formats are converted by ImageMagick if it is installed. ImageMagick runs other programs for
some formats. Therefore it gets only data that begins like a known format, with the format's name.
"""

from __future__ import annotations

import base64
import binascii
import shutil
import struct
import subprocess
from typing import Final

from anyio import to_thread

from acp_nvim.agent.prompts.media import IMAGE_BYTES, mime_of
from acp_nvim.nvim.environment import agent_environment

MAX_PIXELS: Final = 50_000_000
"""Largest area of an image. A small file may contain a very large one."""
TIMEOUT_S: Final = 15
_LIMITS: Final = ("-limit", "memory", "256MiB", "-limit", "disk", "0", "-limit", "time", "10")
_LARGEST: Final = "1600x1200>"
"""Size to which converted images are reduced."""
_FORMATS: Final = {"image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_PNG_HEADER: Final = struct.Struct(">8sI4sII")
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"

Png = tuple[bytes, int, int]
"""Image data, width and height in pixels."""


async def png(text: str) -> Png | None:
    """Return the image that a base64 text contains, or None if it cannot be drawn."""
    data = await to_thread.run_sync(_decode, text)
    mime = mime_of("", data[:64]) if data else None
    if mime in _FORMATS:
        data = await _convert(data, _FORMATS[mime])
    return _with_size(data)


def _decode(text: str) -> bytes:
    """Return the bytes, or no bytes if they are too many or the text is not base64."""
    if len(text) * 3 // 4 > IMAGE_BYTES:
        return b""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _with_size(data: bytes) -> Png | None:
    if len(data) < _PNG_HEADER.size:
        return None
    signature, _, chunk, width, height = _PNG_HEADER.unpack_from(data)
    is_png = signature == _SIGNATURE and chunk == b"IHDR"
    return (data, width, height) if is_png and 0 < width * height <= MAX_PIXELS else None


async def _convert(data: bytes, kind: str) -> bytes:
    """Return the first image of a file as PNG, or no bytes if there is no converter or it fails."""
    path = agent_environment().get("PATH")
    program = shutil.which("magick", path=path) or shutil.which("convert", path=path)
    if program is None:
        return b""
    command = [program, *_LIMITS, f"{kind}:-[0]", "-auto-orient", "-resize", _LARGEST, "png:-"]
    return await to_thread.run_sync(_run, command, data, abandon_on_cancel=True)


def _run(command: list[str], data: bytes) -> bytes:
    environment = agent_environment()
    try:
        done = subprocess.run(
            command,
            check=False,
            input=data,
            capture_output=True,
            env=environment,
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""
