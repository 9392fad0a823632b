"""Writes of one agent both on disk and through the editor: none is lost, each is reported once."""

from __future__ import annotations

import json

import pytest

from tests.support.cases import case
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.pending_edits import LINES, edits_by_name, reject_all, wait_count, wait_edits
from tests.support.script_lines import shell, silently
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until


def wait_counts(editor: Editor, name: str, *counts: int) -> None:
    path = "hunks", "added", "removed"
    editor.wait(
        "(function(n, want) for _, e in ipairs(require('acp').state().sessions[1].edits) do"
        " if vim.fs.basename(e.path) == n then"
        "  return vim.deep_equal({ e.hunks, e.added, e.removed }, want) end end end)(...)",
        name,
        list(counts),
    )
    assert [edits_by_name(editor)[name][key] for key in path] == list(counts)


@pytest.mark.parametrize("opened", [False, True])
def test_a_write_after_an_edit_on_disk_keeps_both(project: Editor, opened: bool) -> None:
    path = project.work / "a.txt"
    if opened:
        project.open("a.txt")
    project.turn(silently("sed -i 's/^line 3$/three/' a.txt") + f"\nreplace {path} '15' fifteen")
    wait_counts(project, "a.txt", 2, 2, 2)
    reject_all(project)
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.read_text() == LINES


def test_a_write_into_a_file_made_on_disk_is_part_of_its_creation(project: Editor) -> None:
    path = project.work / "new.txt"
    project.turn(silently("printf 'one\\ntwo\\n' > new.txt") + f"\nreplace {path} two TWO")
    wait_counts(project, "new.txt", 1, 2, 0)
    assert edits_by_name(project)["new.txt"]["kind"] == "created"


def test_a_write_that_the_agent_undoes_on_disk_leaves_nothing_pending(project: Editor) -> None:
    path, new = project.work / "a.txt", project.work / "new.txt"
    undo = "sed -i 's/^three$/line 3/' a.txt; rm new.txt"
    project.open("a.txt")
    project.turn(f"replace {path} 'line 3\\n' three\nwrite {new} text\n" + silently(undo))
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert not new.exists()
    assert project.lines(str(path)) == LINES.splitlines()


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\r\ntwo\r\n"])
def test_a_binary_buffer_keeps_its_bytes(editor: Editor, data: bytes) -> None:
    """With 'binary', a BOM and carriage returns are text."""
    editor.agent("script")
    orders = StepwiseAgent.at_work(editor)
    path = editor.write("b.txt", data)  # not scanned yet
    editor.lua("vim.cmd('edit ++bin ' .. vim.fn.fnameescape(...))", str(path))
    lines = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")
    orders.ask("read", str(path))
    orders.ask("write", str(path), json.dumps(data.decode()))
    assert editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)") == lines
    orders.ask("write", str(path), json.dumps(data.decode() + "three"))
    assert path.read_bytes() == data + b"three"
    orders.end()
    assert editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)") == [*lines, "three"]


def test_a_write_through_the_editor_is_counted_once(project: Editor) -> None:
    path = project.work / "a.txt"
    project.turn(f"replace {path} line LINE\n" + shell("true", path))
    found = wait_count(project, 1)
    assert found["a.txt"]["added"] == 20
    project.turn("hello")
    assert len(project.events("AcpEdit")) == 1
    assert project.events("AcpEdit")[0]["data"]["source"] == "fs"


def wait_hunks(project: Editor, count: int) -> None:
    """Wait until one file has this number of pending hunks; its changes arrive one by one."""
    project.wait(lua_chunk(__file__, "has_hunks"), count)


def test_writes_on_disk_and_through_the_editor_can_alternate(project: Editor) -> None:
    path = project.work / "a.txt"
    project.open("a.txt")
    project.turn(
        f"replace {path} 'line 1' 'LINE 1'\n"
        + shell("sed -i '20s/.*/end/' a.txt", path)
        + f"\nreplace {path} 'line 5' 'LINE 5'"
    )
    wait_hunks(project, 3)
    reject_all(project)
    wait_count(project, 0)
    until(lambda: path.read_text() == LINES)


def test_an_ignored_file_that_is_read_changed_and_then_written_is_pending(project: Editor) -> None:
    """Although no store keeps the file, the agent's change on disk is pending as well."""
    path = project.write("node_modules/x.txt", LINES)
    project.write(".gitignore", "node_modules\n")
    project.turn("hello")
    project.turn(
        f"read {path}\n"
        + shell(f"sed -i '3s/.*/by itself/' {path}")
        + f"\nreplace {path} 'line 15' fifteen"
    )
    wait_hunks(project, 2)
    reject_all(project)
    wait_count(project, 0)
    until(lambda: path.read_text() == LINES)


def test_a_write_that_is_repeated_on_disk_is_counted_once(
    project: Editor, agent: StepwiseAgent
) -> None:
    """The buffer has unsaved edits, so the write did not reach the disk."""
    path = str(project.work / "a.txt")
    project.open("a.txt")
    project.lua("vim.fn.setline(16, 'mine')")
    agent.ask("read", path)
    agent.ask("replace", path, "line 8\n", "")
    wait_edits(project, a="modified")
    agent.ask("runs", path, "sed -i '/^line 8$/d' a.txt")
    agent.end()
    project.wait("not require('acp.buffers.watch').at_work(...)", path)
    wait_counts(project, "a.txt", 1, 0, 1)
    reject_all(project)
    wait_edits(project)
    assert project.lines(path) == LINES.replace("line 16", "mine").splitlines()


def test_a_new_file_that_the_user_undoes_is_empty(project: Editor, agent: StepwiseAgent) -> None:
    """For a while Neovim's byte offsets are those from before the undo."""
    path = str(project.work / "n.txt")
    agent.ask("write", path, json.dumps("one\ntwo\n"))
    wait_edits(project, n="created")
    run = "vim.api.nvim_buf_call(vim.fn.bufadd(...), function() vim.cmd('{}') end)"
    project.lua(run.format("undo"), path)
    project.wait("require('acp').state().sessions[1].edits[1].added == 0")
    project.lua(run.format("write"), path)
    agent.ask("read", path)
    assert agent.traffic.answers("fs/read_text_file")[-1]["result"] == {"content": ""}


def test_a_later_write_keeps_the_newline_that_a_save_added(
    project: Editor, agent: StepwiseAgent
) -> None:
    """The save adds it because of 'fixendofline'."""
    path = project.write("b.txt", "one\ntwo\nthree")
    project.open("b.txt")
    agent.ask("read", str(path))
    project.cmd("call setline(1, 'mine') | silent write")
    assert path.read_text() == "mine\ntwo\nthree\n"
    agent.ask("replace", str(path), "two", "TWO")
    assert path.read_text() == "mine\nTWO\nthree\n"
    wait_edits(project, b="modified")
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == "mine\ntwo\nthree\n"


def test_an_undo_after_a_save_that_added_a_newline_leaves_nothing_pending(project: Editor) -> None:
    """The newline is the user's, although the agent changed the line above the last one."""
    path = project.write("b.txt", "one\ntwo\nthree")
    project.open("b.txt")
    agent = StepwiseAgent(project)
    agent.begin()
    agent.traffic.wait("session/prompt")
    project.cmd("call setline(1, 'mine')")
    agent.ask("runs", "sed -i 's/two/TWO/' b.txt")
    wait_edits(project, b="modified")
    project.cmd("silent write")
    assert path.read_text() == "mine\nTWO\nthree\n"
    project.cmd("undo")
    assert project.lines(str(path)) == ["mine", "two", "three"]
    wait_edits(project)
    agent.end()


WRITES = [
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
]
"""Texts of a file before and after a write, None for a new file."""


def test_a_write_is_one_event(editor: Editor) -> None:
    files = {f"{number}.txt": texts for number, texts in enumerate(WRITES)}
    for name, (old, _) in files.items():
        if old is not None:
            editor.write(name, old)
    editor.agent("script")
    agent = StepwiseAgent.at_work(editor)
    for name, (_, new) in files.items():
        agent.ask("write", str(editor.work / name), json.dumps(new))
        agent.ask("runs", "true")
    agent.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "0.txt"))
    editor.turn("hello")  # all events up to the end of this turn have arrived
    events = [event["data"] for event in editor.events("AcpEdit")]
    assert [event["path"] for event in events] == [str(editor.work / name) for name in files]
    for event, (name, (old, new)) in zip(events, files.items(), strict=True):
        with case(old, new):
            kind = "modified" if old else "created"
            assert event == {
                "session": 1,
                "path": str(editor.work / name),
                "kind": kind,
                "source": "fs",
                "conflict": False,
            }
            assert (editor.work / name).read_bytes() == new.encode()
            assert edits_by_name(editor)[name]["kind"] == kind


def test_a_bom_that_the_agent_writes_and_removes_is_reported_each_time(
    editor: Editor,
) -> None:
    """The buffer has it as an option, as if the file had been opened with it."""
    path = str(editor.work / "a.txt")
    editor.write("a.txt", "a\n")
    editor.open("a.txt")
    editor.agent("script")
    agent = StepwiseAgent.at_work(editor)
    agent.ask("write", path, json.dumps("\ufeffA\n"))
    agent.ask("runs", "true")
    editor.wait("vim.bo.bomb")
    assert editor.lines(path) == ["A"]
    agent.ask("runs", "printf 'A\\n' > a.txt")
    editor.wait("not vim.bo.bomb")
    agent.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", path)
    editor.turn("hello")
    sources = [event["data"]["source"] for event in editor.events("AcpEdit")]
    assert sources == ["fs", "disk"]
    reject_all(editor)
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert (editor.work / "a.txt").read_bytes() == b"a\n"
