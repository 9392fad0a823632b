"""Images of content blocks as PNG."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import pytest

from acp_nvim.features.pictures import images

JPEG = b"\xff\xd8\xff\xe0" + bytes(60)


def head(width: int, height: int) -> bytes:
    """Return the first bytes of a PNG of this size."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_a_png_is_measured() -> None:
    data = head(640, 480) + b"rest"
    assert await images.png(encoded(data)) == (data, 640, 480)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no base64!",
        encoded(b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        encoded(head(0, 480)),
        encoded(head(100_000, 100_000)),
        encoded(head(10, 10)[:20]),
        encoded(head(10, 10) + bytes(6 * 1024 * 1024)),
    ],
)
async def test_other_data_is_not_an_image(text: str) -> None:
    assert await images.png(text) is None


async def test_other_formats_are_converted_by_imagemagick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "agent_environment", lambda: {"PATH": str(tmp_path)})
    assert await images.png(encoded(JPEG)) is None, "there is no converter"
    (tmp_path / "image.png").write_bytes(head(4, 2))
    program = tmp_path / "magick"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/args\n/bin/cat {tmp_path}/image.png\n')
    program.chmod(0o755)
    assert await images.png(encoded(JPEG)) == (head(4, 2), 4, 2)
    words = (tmp_path / "args").read_text().split()
    assert "jpeg:-[0]" in words
    assert words[-1] == "png:-"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert await images.png(encoded(JPEG)) is None
