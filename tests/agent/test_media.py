"""Types of files that are attached."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_nvim.agent.prompts.media import attachment, mime_of
from acp_nvim.session.prompts import Excerpt


@pytest.mark.parametrize(
    ("name", "mime"),
    [
        ("main.rs", "text/x-rust"),
        ("app.ts", "text/x-typescript"),
        ("App.TS", "text/x-typescript"),
        ("a.mts", "text/x-typescript"),
        ("a.tsx", "text/tsx"),
        ("a.m", "text/x-objective-c"),
        ("a.lua", "text/x-lua"),
        ("a.py", "text/x-python"),
        ("a.html", "text/html"),
        ("a.pdf", "application/pdf"),
        ("unknown.qqq", None),
    ],
)
def test_a_source_has_the_type_of_its_language(name: str, mime: str | None) -> None:
    assert mime_of(f"/p/{name}", b"") == mime


@pytest.mark.parametrize(
    ("name", "mime"),
    [("a.rs", "text/x-rust"), ("a.toml", "application/toml"), ("a.x", "text/plain")],
)
def test_an_attached_text_has_that_type(tmp_path: Path, name: str, mime: str) -> None:
    path = tmp_path / name
    path.write_text("x\n")
    found = attachment(str(path))
    assert isinstance(found, Excerpt)
    assert found.mime_type == mime


def test_the_first_bytes_override_a_suffix() -> None:
    assert mime_of("/p/a.ts", b"\x89PNG\r\n\x1a\n") == "image/png"
