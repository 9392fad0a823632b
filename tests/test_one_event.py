"""A write through the editor is told once, whatever the new file holds."""

from __future__ import annotations

import json

import pytest

from tests.editor import Editor
from tests.orders import Orders
from tests.test_disk_edits import edits


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, "a\r\nb\r\n"),
        (None, "a\0b\n"),
        (None, "a\rb\n"),
        (None, ""),
        ("a\nb\n", "a\r\nB\r\n"),
    ],
    ids=["CRLF", "NUL", "CR", "empty", "CRLF in a file that had none"],
)
def test_a_write_is_one_event(editor: Editor, old: str | None, new: str) -> None:
    path = str(editor.work / "a.txt")
    if old is not None:
        editor.write("a.txt", old)
    editor.agent("script")
    agent = Orders.at_work(editor)
    agent.ask("write", path, json.dumps(new))
    agent.ask("runs", "true")
    agent.end()
    editor.wait("not require('acp.watch').at_work(...)", path)
    editor.turn("hello")  # all events until its end have come
    kind = "modified" if old else "created"
    told = {"session": 1, "path": path, "kind": kind, "source": "fs", "conflict": False}
    assert [event["data"] for event in editor.events("AcpEdit")] == [told]
    assert (editor.work / "a.txt").read_bytes() == new.encode()
    assert edits(editor)["a.txt"]["kind"] == kind
