"""The turns of another session begin or end while an agent's change is not looked at yet."""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.pending_edits import LINES, edits_by_name
from tests.support.stepwise_agent import StepwiseAgent


def test_stamps_outlive_the_turn_of_another_session(editor: Editor) -> None:
    path = editor.write("a.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    editor.open("a.txt")
    agent = StepwiseAgent.at_work(editor)
    agent.ask("runs", "true")
    editor.cmd("call setline(16, 'mine')")
    agent.ask("silently", "sed -i 's/^line 4$/four/' a.txt")
    root = str(editor.work)
    editor.lua("require('acp.buffers.disk_changes').turns(...)", [root, root + "/sub"])
    agent.ask("runs", "a.txt", "true")
    editor.wait("(require('acp').state().sessions[1].edits or {})[1]")
    agent.end()
    both = LINES.replace("line 16", "mine").replace("line 4\n", "four\n")
    assert editor.lines(str(path)) == both.splitlines()
    assert edits_by_name(editor)["a.txt"]["hunks"] == 1
