"""Files that a checkpoint did not include: known as such, never deleted, never overwritten."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.checkpoints import run
from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.killed_host import kill_host_once_written
from tests.support.waiting import until

Begin = Callable[..., Editor]
SMALL = 400
"""Size in bytes of a file that is small in these tests."""


@pytest.fixture(params=["git", "plain"])
def begin(request: pytest.FixtureRequest, edit: Begin) -> Begin:
    """Start an editor on a project with these files and limits, with a scripted agent."""

    def start(files: dict[str, bytes], **limits: int) -> Editor:
        editor = edit(env={"ACP_TEST_LIMITS": json.dumps(limits)})
        if request.param == "git":
            editor.write("first.txt", "first\n")
            repository(editor.work)
        for name, data in files.items():
            editor.write(name, data)
        editor.agent("script")
        return editor

    return start


def contents(editor: Editor) -> dict[str, bytes]:
    found = [path for path in editor.work.rglob("*") if ".git" not in path.parts]
    return {
        str(path.relative_to(editor.work)): path.read_bytes() for path in found if path.is_file()
    }


def edits(editor: Editor) -> list[tuple[str, str]]:
    """Return name and kind of each file with pending edits."""
    return [(Path(one["path"]).name, one["kind"]) for one in editor.session()["edits"]]


MANY = {f"{number:02}.bin": os.urandom(SMALL) for number in range(12)}


@pytest.mark.parametrize("command", ["restore 1", "restore! 1", "reject all"])
def test_files_beyond_the_limits_of_a_scan_stay(begin: Begin, command: str) -> None:
    editor = begin(MANY, MAX_SCAN_BYTES=3 * SMALL)
    before = contents(editor)
    run(editor, "echo new > made.txt")
    editor.wait("#require('acp').state().sessions[1].edits > 0")
    assert edits(editor) == [("made.txt", "created")]
    editor.cmd(f"Acp {command}")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert contents(editor) == before


def test_files_that_a_later_scan_includes_are_not_a_change(begin: Begin) -> None:
    editor = begin(MANY, MAX_SCAN_BYTES=3 * SMALL)
    before = contents(editor)
    for _ in range(3):
        run(editor, "true")
    assert edits(editor) == []
    assert editor.events("AcpEdit") == []
    for n in (3, 2, 1):
        editor.cmd(f"Acp restore! {n}")
        editor.wait_message(f"Files restored to before prompt {n}: 0 files changed")
    assert contents(editor) == before


LARGE = b"line\n" * 400
LOST = "No copy of log (over 0 MiB): its change can be neither reviewed nor undone"


@pytest.mark.parametrize("command", ["restore 1", "restore! 1"])
def test_a_large_file_that_shrinks_is_neither_new_nor_deleted(begin: Begin, command: str) -> None:
    editor = begin({"log": LARGE}, MAX_FILE_BYTES=1000)
    run(editor, "echo rotated > log; echo new > new.txt")
    editor.wait("#require('acp').state().sessions[1].edits > 0")
    assert edits(editor) == [("new.txt", "created")]
    kinds = {Path(e["data"]["path"]).name: e["data"]["kind"] for e in editor.events("AcpEdit")}
    assert kinds == {"log": "modified", "new.txt": "created"}
    assert any(LOST in line for line in editor.chat())
    editor.cmd(f"Acp {command}")
    editor.wait_message("Files restored to before prompt 1: 1 file changed")
    assert contents(editor)["log"] == b"rotated\n"
    assert "new.txt" not in contents(editor)
    why = "log was left unchanged: there is no copy to restore (over 0 MiB)"
    until(lambda: any(why in line for line in editor.chat()))


def test_a_large_file_that_is_written_through_the_editor_can_be_reviewed(begin: Begin) -> None:
    editor = begin({"log": LARGE}, MAX_FILE_BYTES=1000)
    new = editor.work / "new.log"
    for path in (editor.work / "log", new):
        text = LARGE.decode() + "more\n"
        editor.turn(f"write {path} {json.dumps(text)}")
    editor.wait("#require('acp').state().sessions[1].edits == 2")
    assert edits(editor) == [("log", "modified"), ("new.log", "created")]
    run(editor, "true")  # until the scans after both writes are done
    assert not any("reviewed" in line for line in editor.chat())
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert contents(editor)["log"] == LARGE
    assert not new.exists()


def test_an_edit_by_a_tool_that_is_larger_than_any_message_can_be_reviewed(begin: Begin) -> None:
    editor = begin({"log": b"x\n" * 40}, MAX_FILE_BYTES=1000)
    allowed = {"rules": [{"action": "allow", "kind": "edit"}]}
    editor.setup({"permission": allowed, "limits": {"message_bytes": 64 * 1024}})
    edit = {"old": "x\n", "new": "y" * 3000 + "\n", "all": True}
    editor.turn(f"mcp nvim_edit {json.dumps({'path': 'log', 'edits': [edit]})}")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    assert contents(editor)["log"] == (b"y" * 3000 + b"\n") * 40
    run(editor, "true")  # until the scans after the edit are done
    assert not any("reviewed" in line for line in editor.chat())
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert contents(editor)["log"] == b"x\n" * 40


def test_changes_after_the_shrinking_can_be_reviewed(begin: Begin) -> None:
    editor = begin({"log": LARGE}, MAX_FILE_BYTES=1000)
    run(editor, "echo rotated > log")
    editor.wait_event("AcpEdit")
    run(editor, "echo more >> log")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    assert edits(editor) == [("log", "modified")]
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert contents(editor)["log"] == b"rotated\n"
    editor.cmd("Acp restore 2")
    editor.wait_message("Files restored to before prompt 2")
    assert contents(editor)["log"] == b"rotated\n"


def test_a_file_that_grows_over_the_limit_is_never_overwritten(begin: Begin) -> None:
    editor = begin({"log": b"small\n"}, MAX_FILE_BYTES=1000)
    run(editor, "yes line | head -400 > log; yes new | head -400 > made.bin")
    editor.wait_event("AcpEdit", 2)
    kinds = {Path(e["data"]["path"]).name: e["data"]["kind"] for e in editor.events("AcpEdit")}
    assert kinds == {"log": "modified", "made.bin": "created"}
    assert edits(editor) == []
    after = contents(editor)
    for command in ("restore 1", "restore! 1"):
        editor.cmd(f"Acp {command}")
        editor.wait_message("Nothing was restored: log was left unchanged")
        assert contents(editor) == after
    for name in ("log", "made.bin"):
        why = f"{name} was left unchanged: its current content would be lost, as no copy"
        until(lambda why=why: any(why in line for line in editor.chat()))  # type: ignore[misc]
    run(editor, "echo small > log")
    editor.cmd("Acp restore! 1")
    until(lambda: contents(editor)["log"] == b"small\n")


def test_a_large_file_that_an_agent_deletes_is_reported_as_lost(begin: Begin) -> None:
    editor = begin({"log": LARGE}, MAX_FILE_BYTES=1000)
    run(editor, "rm log")
    event = editor.wait_event("AcpEdit")
    assert event["kind"] == "deleted"
    assert any(LOST in line for line in editor.chat())
    editor.cmd("Acp restore 1")
    why = "log was left unchanged: there is no copy to restore (over 0 MiB)"
    editor.wait_message(f"Nothing was restored: {why}")


@pytest.mark.parametrize("command", ["restore 1", "restore! 1", "reject all"])
def test_files_that_git_ignored_before_are_the_users(editor: Editor, command: str) -> None:
    editor.write(".gitignore", "*.env\nbuild/\n")
    repository(editor.work)
    editor.write("my.env", "mine\n")
    editor.write("build/out", "mine\n")
    editor.agent("script")
    before = contents(editor)
    run(editor, "echo > .gitignore; echo new > new.txt")
    editor.wait("#require('acp').state().sessions[1].edits == 2")
    assert sorted(edits(editor)) == [(".gitignore", "modified"), ("new.txt", "created")]
    editor.cmd(f"Acp {command}")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    until(lambda: contents(editor) == before)


def test_the_next_host_knows_the_files_left_out(begin: Begin) -> None:
    editor = begin({**MANY, "log": LARGE}, MAX_SCAN_BYTES=3 * SMALL, MAX_FILE_BYTES=1000)
    before = contents(editor)
    run(editor, "echo rotated > log; echo new > new.txt")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    kill_host_once_written(editor)
    editor.cmd("Acp restore! 1")
    editor.wait_message("Files restored to before prompt 1: 1 file changed")
    assert contents(editor) == {**before, "log": b"rotated\n"}
