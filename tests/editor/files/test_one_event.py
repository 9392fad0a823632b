"""A write through the editor is told once, whatever the new file holds."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.pending_edits import edits_by_name
from tests.support.stepwise_agent import StepwiseAgent


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, "a\r\nb\r\n"),
        (None, "a\0b\n"),
        (None, "a\rb\n"),
        (None, ""),
        (None, "\ufeffa\n"),
        (None, "\ufeff"),
        (None, "\ufeffa\r\nb\r\n"),
        (None, "\ufeff\ufeffa\n"),
        ("a\nb\n", "a\r\nB\r\n"),
        ("a\nb\n", "\ufeffa\nB\n"),
        ("a\nb\n", "\ufeffa\nb\n"),
    ],
)
def test_a_write_is_one_event(editor: Editor, old: str | None, new: str) -> None:
    path = str(editor.work / "a.txt")
    if old is not None:
        editor.write("a.txt", old)
    editor.agent("script")
    agent = StepwiseAgent.at_work(editor)
    agent.ask("write", path, json.dumps(new))
    agent.ask("runs", "true")
    agent.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", path)
    editor.turn("hello")  # all events until its end have come
    kind = "modified" if old else "created"
    told = {"session": 1, "path": path, "kind": kind, "source": "fs", "conflict": False}
    assert [event["data"] for event in editor.events("AcpEdit")] == [told]
    assert (editor.work / "a.txt").read_bytes() == new.encode()
    assert edits_by_name(editor)["a.txt"]["kind"] == kind


BOM = "\ufeff"


def test_a_bom_that_was_written_is_one_and_what_the_agent_makes_of_it_is_told(
    editor: Editor,
) -> None:
    """The buffer has it as an option, as if the file had been opened."""
    path = str(editor.work / "a.txt")
    editor.write("a.txt", "a\n")
    editor.open("a.txt")
    editor.agent("script")
    agent = StepwiseAgent.at_work(editor)
    agent.ask("write", path, json.dumps(f"{BOM}A\n"))
    agent.ask("runs", "true")
    editor.wait("vim.bo.bomb")
    assert editor.lines(path) == ["A"]
    agent.ask("runs", "printf 'A\\n' > a.txt")
    editor.wait("not vim.bo.bomb")
    agent.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", path)
    editor.turn("hello")
    told = [event["data"]["source"] for event in editor.events("AcpEdit")]
    assert told == ["fs", "disk"]
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert (editor.work / "a.txt").read_bytes() == b"a\n"
