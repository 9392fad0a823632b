"""Image in the clipboard, read by a program of the system."""

from __future__ import annotations

import base64
import binascii
import shutil
import sys
from collections.abc import Mapping
from typing import Final

import anyio

from acp_nvim import wording
from acp_nvim.agent.prompts.media import mime_of

TIMEOUT_S: Final = 5.0
IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/webp", "image/gif")

_APPLE: Final = "the clipboard as «class PNGf»"
_POWERSHELL: Final = (
    "Add-Type -AssemblyName System.Windows.Forms,System.Drawing;"
    "$i=[Windows.Forms.Clipboard]::GetImage();if($i){$m=New-Object IO.MemoryStream;"
    "$i.Save($m,[Drawing.Imaging.ImageFormat]::Png);"
    "[Console]::Out.Write([Convert]::ToBase64String($m.ToArray()))}"
)


class NoImage(Exception):
    """The clipboard has no image. The message gives the reason in one line."""


async def image(env: Mapping[str, str], platform: str = sys.platform) -> bytes:
    """Return the clipboard's image as the bytes of a file. Raise `NoImage`."""
    tools = _tools(env, platform)
    if not tools:
        raise NoImage(wording.NO_IMAGE_PROGRAM.format(advice=_advice(env, platform)))
    for tool in tools:
        data = await _ask(tool, env)
        if data:
            return data
    raise NoImage(wording.NO_IMAGE)


def _tools(env: Mapping[str, str], platform: str) -> list[str]:
    """Return the installed programs that can read this clipboard, best first."""
    wanted: list[str] = []
    if platform == "darwin":
        wanted = ["pngpaste", "osascript"]
    elif platform == "win32":
        wanted = ["powershell.exe"]
    else:
        wanted += ["wl-paste"] if env.get("WAYLAND_DISPLAY") else []
        wanted += ["xclip"] if env.get("DISPLAY") else []
        wanted += ["powershell.exe"] if env.get("WSL_DISTRO_NAME") else []
    return [tool for tool in wanted if shutil.which(tool, path=env.get("PATH"))]


def _advice(env: Mapping[str, str], platform: str) -> str:
    if platform == "darwin":
        return wording.WHY_NO_PNGPASTE
    if env.get("WAYLAND_DISPLAY"):
        return wording.WHY_NO_WL_CLIPBOARD
    return wording.WHY_NO_XCLIP if env.get("DISPLAY") else wording.WHY_NO_DISPLAY


async def _ask(tool: str, env: Mapping[str, str]) -> bytes:
    """Return the image's bytes, or no bytes if this program finds no image."""
    match tool:
        case "wl-paste":
            kind = _best_type(await _run([tool, "--list-types"], env))
            return await _run([tool, "--type", kind], env) if kind else b""
        case "xclip":
            command = [tool, "-selection", "clipboard", "-o", "-t"]
            kind = _best_type(await _run([*command, "TARGETS"], env))
            return await _run([*command, kind], env) if kind else b""
        case "pngpaste":
            return _image_only(await _run([tool, "-"], env))
        case "osascript":
            return _decode_osascript(await _run([tool, "-e", _APPLE], env))
        case _:
            command = [tool, "-NoProfile", "-STA", "-Command", _POWERSHELL]
            return _decode_base64(await _run(command, env))


async def _run(command: list[str], env: Mapping[str, str]) -> bytes:
    """Return a program's output, or no bytes if it fails or takes too long."""
    try:
        with anyio.move_on_after(TIMEOUT_S):
            done = await anyio.run_process(command, check=False, env=dict(env))
            return done.stdout if done.returncode == 0 else b""
    except OSError:
        return b""
    return b""


def _best_type(targets: bytes) -> str:
    """Return the image type to request, or an empty string if the clipboard offers none."""
    offered = targets.decode("utf-8", "replace").split()
    return next((kind for kind in IMAGE_TYPES if kind in offered), "")


def _image_only(data: bytes) -> bytes:
    """Return the bytes if they begin like an image, otherwise no bytes."""
    return data if (mime_of("", data) or "").startswith("image/") else b""


def _decode_osascript(printed: bytes) -> bytes:
    """Decode `«data PNGf89504E47…»`: hexadecimal digits in guillemets."""
    text = printed.decode("utf-8", "replace").strip()
    head = "«data PNGf"
    if not text.startswith(head):
        return b""
    try:
        return _image_only(bytes.fromhex(text[len(head) : -1]))
    except ValueError:
        return b""


def _decode_base64(printed: bytes) -> bytes:
    try:
        return _image_only(base64.b64decode(printed.strip(), validate=True))
    except binascii.Error:
        return b""
