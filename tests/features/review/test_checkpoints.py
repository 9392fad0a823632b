"""Checkpoints: made before each prompt, listed, restored, and the restore undone."""

from __future__ import annotations

import os
import re

import pytest

from tests.support.checkpoints import COMPLETED, FIRST, LIST, contents, run
from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.lua import lua_chunk
from tests.support.script_lines import silently
from tests.support.waiting import until


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Return an editor with two files, in a repository or not."""
    editor.write("a.txt", FIRST)
    editor.write("b.txt", FIRST)
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    return editor


def test_files_and_buffers_are_restored_and_the_restore_is_undone(project: Editor) -> None:
    project.open("a.txt")
    before = contents(project)
    run(project, "sed -i 's/two/TWO/' a.txt; rm b.txt; echo new > c.txt")
    run(project, "sed -i 's/three/THREE/' a.txt")
    project.wait("vim.api.nvim_buf_get_lines(0, 0, -1, true)[3] == 'THREE'")
    after = contents(project)
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1: 3 files changed")
    assert contents(project) == before
    assert project.lines(str(project.work / "a.txt")) == ["one", "two", "three"]
    assert not project.lua("return vim.bo.modified")
    project.wait("#require('acp').state().sessions[1].edits == 0")
    project.cmd("Acp restore")
    project.wait_message("The restore was undone: 3 files changed")
    assert contents(project) == after
    assert project.lines(str(project.work / "a.txt")) == ["one", "TWO", "THREE"]
    project.wait("#require('acp').state().sessions[1].edits == 3")
    project.cmd("checktime")
    assert not project.rpc.mode()["blocking"]


def test_a_line_typed_during_a_restore_stays(project: Editor) -> None:
    for name in ("a.txt", "b.txt"):
        project.open(name)
    run(project, "sed -i 's/two/TWO/' a.txt b.txt")
    project.wait("vim.fn.getline(2) == 'TWO'")
    project.lua(lua_chunk(__file__, "type_before_take"))
    project.cmd("Acp restore 1")
    project.wait_message("b.txt was left unchanged: it has since changed")
    assert project.lines(str(project.work / "b.txt")) == ["one", "TWO", "three", "mine"]
    assert contents(project)["a.txt"] == FIRST
    assert contents(project)["b.txt"] == FIRST.replace("two", "TWO")
    project.wait("#require('acp').state().sessions[1].edits == 1")


def test_a_later_checkpoint_keeps_changes_from_earlier_prompts(project: Editor) -> None:
    run(project, "sed -i 's/two/TWO/' a.txt")
    run(project, "sed -i 's/three/THREE/' a.txt")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    seen = project.work.parent / "seen"
    project.cmd(f"Acp restore 2 | AcpPrompt {silently(f'cp a.txt {seen}')}")
    project.wait_message("Files restored to before prompt 2: 1 file changed")
    assert contents(project)["a.txt"] == "one\nTWO\nthree\n"
    project.wait("require('acp').state().sessions[1].edits[1].added == 1")
    until(lambda: seen.exists() and seen.read_text())
    assert seen.read_text() == contents(project)["a.txt"], "a later prompt is sent afterwards"


def test_edits_that_were_not_pending_then_are_not_pending_after_the_restore(
    project: Editor,
) -> None:
    run(project, "sed -i 's/two/TWO/' a.txt")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    project.cmd("Acp accept all")
    project.wait("#require('acp').state().sessions[1].edits == 0")
    run(project, "sed -i 's/three/THREE/' a.txt")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1")
    assert contents(project)["a.txt"] == FIRST
    project.wait("#require('acp').state().sessions[1].edits == 0")
    project.cmd("Acp restore")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    assert project.session()["edits"][0]["added"] == 1


def test_unsaved_edits_are_restored_as_unsaved(project: Editor) -> None:
    project.open("a.txt")
    project.keys("Gounsaved<Esc>")
    project.turn("hello")
    project.keys("ggOlater<Esc>")
    project.cmd("Acp restore! 1")
    project.wait_message("Files restored to before prompt 1")
    assert project.lines(str(project.work / "a.txt")) == ["one", "two", "three", "unsaved"]
    assert project.lua("return vim.bo.modified")
    assert contents(project)["a.txt"] == FIRST
    project.cmd("Acp restore")
    project.wait_message("The restore was undone")
    assert project.lines(str(project.work / "a.txt"))[0] == "later"


def test_unsaved_text_that_an_agent_wrote_into_is_not_saved_by_a_restore(project: Editor) -> None:
    path = project.work / "a.txt"
    project.open("a.txt")
    project.keys("Gounsaved<Esc>")
    project.turn(f"replace {path} one ONE")
    project.wait("vim.fn.getbufline(..., 1)[1] == 'ONE'", str(path))
    assert contents(project)["a.txt"] == FIRST
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1")
    assert contents(project)["a.txt"] == FIRST
    assert project.lines(str(path)) == ["one", "two", "three", "unsaved"]
    assert project.lua("return vim.bo[vim.fn.bufnr(...)].modified", str(path))


def test_ignored_files_that_agents_touch_are_restored(project: Editor) -> None:
    path = project.write("node_modules/x.js", "one\n")
    project.write(".gitignore", "node_modules\n")
    project.turn(f'write {path} "two\\n"')
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1")
    until(lambda: path.read_text() == "one\n")


def test_modes_and_links_are_restored(project: Editor) -> None:
    (project.work / "link").symlink_to("a.txt")
    (project.work / "b.txt").chmod(0o755)
    run(project, "chmod 644 b.txt; rm link; echo x > link")
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1: 2 files changed")
    assert os.access(project.work / "b.txt", os.X_OK)
    assert (project.work / "link").is_symlink()
    assert contents(project)["a.txt"] == FIRST


def test_the_list_has_a_line_for_each_prompt_with_its_changes(project: Editor) -> None:
    run(project, "sed -i 's/two/TWO/' a.txt")
    project.turn("hello")
    project.cmd("Acp checkpoints")
    project.wait("vim.fn.bufnr('acp://checkpoints/1') > 0")
    later, earlier = project.lines("acp://checkpoints/1")
    assert re.fullmatch(r"  2  [\d:]{8}  hello +no changes since", later)
    assert re.fullmatch(r"  1  [\d:]{8}  .*  1 changed: a.txt", earlier)


def test_a_file_that_cannot_be_restored_is_reported(project: Editor) -> None:
    project.turn("hello")
    project.cmd("Acp restore 7")
    project.wait_message("No checkpoint 7. There is only 1")
    project.cmd("Acp restore")
    project.wait_message("No restore to undo")


def test_a_restore_during_a_turn_is_refused(project: Editor) -> None:
    project.prompt("slow 200 0.05")
    project.wait("require('acp').state().sessions[1].status == 'running'")
    project.cmd("Acp restore 1")
    project.wait_message("The agent is still working")
    project.cmd("AcpCancel")
    project.wait_event("AcpTurnEnd")


def test_the_users_git_is_never_touched(editor: Editor) -> None:
    editor.write("a.txt", FIRST)
    editor.write("b.txt", FIRST)
    repository(editor.work)
    (editor.work / "b.txt").write_text("staged\n")
    git(editor.work, "add", "b.txt")
    state = (git(editor.work, "diff", "--cached"), git(editor.work, "log"))
    index = (editor.work / ".git/index").read_bytes()
    editor.agent("script")
    run(editor, "echo x >> a.txt")
    editor.cmd("Acp restore 1")
    editor.wait_message("Files restored to before prompt 1")
    assert (editor.work / ".git/index").read_bytes() == index
    assert (git(editor.work, "diff", "--cached"), git(editor.work, "log")) == state
    assert git(editor.work, "stash", "list") == git(editor.work, "branch", "--list", "acp*") == ""


def test_restore_completes_the_numbers_of_the_current_session(editor: Editor) -> None:
    editor.agent("script")
    assert editor.lua(COMPLETED, "") == []
    for _ in range(11):
        editor.turn("say " + "long " * 20)
    assert editor.lua(COMPLETED, "") == [str(n) for n in range(11, 0, -1)]
    assert editor.lua(COMPLETED, "1") == ["11", "10", "1"]
    assert editor.lua(COMPLETED, "1 ") == []
    checkpoints = editor.session(1)["checkpoints"]
    assert [one["n"] for one in checkpoints] == list(range(1, 12))
    assert checkpoints[0]["label"].startswith("say long")
    assert checkpoints[0]["label"].endswith("…")
    editor.cmd("Acp new")
    editor.wait("require('acp').state().current == 2")
    assert editor.lua(COMPLETED, "") == []
    assert editor.session(2)["checkpoints"] == []


def test_no_checkpoints_are_made_when_the_option_is_off(editor: Editor) -> None:
    editor.write("a.txt", FIRST)
    editor.agent("script")
    editor.setup({"checkpoints": False})
    run(editor, "sed -i 's/two/TWO/' a.txt")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    editor.cmd("Acp checkpoints")
    editor.wait_message("Checkpoints are off (option `checkpoints`)")
    editor.cmd("messages clear")
    editor.cmd("Acp restore 1")
    editor.wait_message("Checkpoints are off (option `checkpoints`)")


@pytest.fixture
def listed(project: Editor) -> Editor:
    """Return an editor with two prompts that changed a file, and their list with the cursor on the
    older one.
    """
    run(project, "sed -i 's/two/TWO/' a.txt; rm b.txt")
    run(project, "sed -i 's/three/THREE/' a.txt; printf new > c.txt")
    project.cmd("Acp checkpoints")
    project.wait("vim.fn.bufname() == ...", LIST)
    project.lua("vim.fn.search('^ *1  ')")
    return project


def test_the_list_shows_later_changes_as_a_diff(listed: Editor) -> None:
    listed.keys("<CR>")
    listed.wait("vim.fn.bufname() == 'acp://changes/1/1'")
    assert listed.lines("acp://changes/1/1") == [
        *["diff a.txt", "--- a/a.txt", "+++ b/a.txt", "@@ -1,3 +1,3 @@"],
        *[" one", "-two", "-three", "+TWO", "+THREE", ""],
        *["diff b.txt", "--- a/b.txt", "+++ /dev/null", "@@ -1,3 +0,0 @@"],
        *["-one", "-two", "-three", ""],
        *["diff c.txt", "--- /dev/null", "+++ b/c.txt", "@@ -0,0 +1 @@", "+new"],
        *["\\ No newline at end of file", ""],
    ]
    assert listed.lua("return vim.bo.filetype") == "diff"


def test_the_diff_takes_the_window_of_the_list_and_closing_it_shows_the_list(
    listed: Editor,
) -> None:
    row, windows = listed.lua("return { vim.fn.line('.'), vim.fn.winnr('$') }")
    assert "Checkpoints · session 1" in listed.lua("return vim.wo.winbar")
    listed.keys("<CR>")
    listed.wait("vim.fn.bufname() == 'acp://changes/1/1'")
    assert listed.lua("return vim.fn.winnr('$')") == windows
    assert "Changes since prompt 1 · session 1" in listed.lua("return vim.wo.winbar")
    listed.keys("q")
    listed.wait("vim.fn.bufname() == ...", LIST)
    assert listed.lua("return { vim.fn.line('.'), vim.fn.winnr('$') }") == [row, windows]
    assert "Checkpoints · session 1" in listed.lua("return vim.wo.winbar")
    listed.keys("q")
    listed.wait("vim.fn.winnr('$') == ...", windows - 1)


def test_the_command_shows_the_list_in_place_of_the_diff(listed: Editor) -> None:
    windows = listed.lua("return vim.fn.winnr('$')")
    listed.keys("<CR>")
    listed.wait("vim.fn.bufname() == 'acp://changes/1/1'")
    listed.cmd("Acp checkpoints")
    listed.wait("vim.fn.bufname() == ...", LIST)
    assert listed.lua("return vim.fn.winnr('$')") == windows


def test_the_list_restores_and_is_then_up_to_date(listed: Editor) -> None:
    before = listed.lines(LIST)
    listed.keys("r")
    listed.wait_message("Files restored to before prompt 1: 3 files changed")
    listed.wait("vim.fn.search('no changes since', 'nw') > 0")
    assert contents(listed) == {"a.txt": FIRST, "b.txt": FIRST}
    assert listed.lua("return vim.fn.bufname()") == LIST
    listed.keys("u")
    listed.wait_message("The restore was undone: 3 files changed")
    until(lambda: listed.lines(LIST) == before)


def test_the_list_can_be_refreshed(listed: Editor) -> None:
    listed.write("d.txt", "mine\n")
    listed.keys("R")
    listed.wait("vim.fn.search('d.txt', 'nw') > 0")


def test_an_empty_list_cannot_restore(editor: Editor) -> None:
    editor.agent("script")
    editor.cmd("Acp new")
    editor.wait_event("AcpSession")
    editor.cmd("Acp checkpoints")
    editor.wait("vim.fn.bufname() == ...", LIST)
    editor.keys("r")
    editor.wait_message("No checkpoint under the cursor")


def test_the_list_shows_its_keys(listed: Editor) -> None:
    listed.wait_screen("<CR> diff · r restore · u undo it · g? keys")
    listed.keys("g?")
    listed.wait_screen("undo the last restore")


def test_unsaved_text_is_part_of_the_changes(project: Editor) -> None:
    project.turn("hello")
    project.open("a.txt")
    project.keys("Gounsaved<Esc>")
    project.cmd("Acp checkpoints")
    project.wait("vim.fn.bufname() == ...", LIST)
    project.keys("<CR>")
    project.wait("vim.fn.bufname() == 'acp://changes/1/1'")
    assert "+unsaved" in project.lines("acp://changes/1/1")


def test_an_empty_diff_says_so(project: Editor) -> None:
    project.turn("hello")
    project.cmd("Acp checkpoints")
    project.wait("vim.fn.bufname() == ...", LIST)
    project.keys("<CR>")
    project.wait("vim.fn.bufname() == 'acp://changes/1/1'")
    assert project.lines("acp://changes/1/1") == ["No changes since prompt 1"]


def test_a_binary_file_is_named_as_binary(project: Editor) -> None:
    project.turn("hello")
    (project.work / "x.bin").write_bytes(b"a\0b")
    project.cmd("Acp checkpoints")
    project.wait("vim.fn.bufname() == ...", LIST)
    project.keys("<CR>")
    project.wait("vim.fn.bufname() == 'acp://changes/1/1'")
    assert "Binary files differ: none, now 3 bytes" in project.lines("acp://changes/1/1")


def test_checkpoints_begin_again_after_their_store_was_deleted(editor: Editor) -> None:
    editor.write("a.txt", FIRST)
    editor.agent("script")
    run(editor, "echo four >> a.txt")
    (store,) = {found.parent for found in editor.home.rglob("git-*") if found.is_dir()}
    store.rename(editor.home / "deleted")  # at once, whatever the host is doing there
    run(editor, "echo five >> a.txt")
    warning = "No checkpoints, and changes on disk are not noticed: "
    assert f"{store} was deleted." in " ".join(
        line.strip() for line in editor.chat() if warning in line
    )
    run(editor, "echo six >> a.txt")
    editor.cmd("Acp checkpoints")
    editor.wait("vim.fn.bufname() == ...", LIST)
    first, *_, last = reversed(editor.lines(LIST))
    assert first.endswith("that state is no longer kept")
    assert last.endswith("1 changed: a.txt")
