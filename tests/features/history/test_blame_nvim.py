"""Blame: the prompt that wrote a line, in the buffer, in the chat, and in the next Neovim."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.script_lines import shell

MARKS = """
local ns = vim.api.nvim_create_namespace('acp.blame')
local marks = vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })
return vim.tbl_map(function(mark) return { mark[2] + 1, mark[4].virt_text[1][1] } end, marks)
"""
"""Returns the line and the text of each blame mark."""


def start(edit: Callable[..., Editor], home: Path, **options: Any) -> Editor:
    editor = edit(work=home / "work", env={"XDG_DATA_HOME": str(home / "data")})
    editor.setup({"blame": True, **options})
    editor.agent("script")
    return editor


def wait_blame(editor: Editor, line: int, words: str) -> None:
    """Wait until blame shows these words at the cursor's line and at no other."""
    editor.keys(f"{line}G")
    condition = "(function(...) local seen = (function() " + MARKS + " end)()"
    condition += " local line, words = ..."
    condition += " if words == '' then return #seen == 0 end"
    condition += " return #seen == 1 and seen[1][1] == line and seen[1][2]:find(words, 1, true)"
    editor.wait(condition + " ~= nil end)(...)", line, words)


def below_cursor(editor: Editor) -> str:
    """Return the two lines below the cursor."""
    row = editor.lua("return vim.api.nvim_win_get_cursor(0)[1]")
    return " ".join(editor.lua("return vim.api.nvim_buf_get_lines(0, ..., ... + 2, false)", row))


def test_blame_shows_the_prompt_of_a_line(edit: Callable[..., Editor], tmp_path: Path) -> None:
    first = start(edit, tmp_path)
    path = first.write("a.txt", "one\ntwo\nthree\n")
    first.cmd(f"edit {path}")
    first.cmd("nnoremap <buffer> <CR> <Cmd>let g:mine = v:count<CR>")
    first.turn("say hello")
    first.turn(f"replace {path} two TWO")
    first.cmd("Acp blame")
    wait_blame(first, 2, "script, just now · replace")
    wait_blame(first, 1, "")

    # The user types above an agent's line, and in one.
    first.keys("ggOnew<Esc>")
    wait_blame(first, 3, "replace")
    wait_blame(first, 1, "")
    first.keys("3GAx<Esc>")
    wait_blame(first, 3, "")
    first.keys("u")
    wait_blame(first, 3, "replace")

    # The agent changes the file on disk and over unsaved text; blame is updated by itself.
    first.cmd("write")
    first.turn(shell(f"sed -i s/three/THREE/ {path}", path))
    wait_blame(first, 4, "runs")
    wait_blame(first, 3, "replace")
    assert first.lines(str(path)) == ["new", "one", "TWO", "THREE"]

    # <CR> keeps its meaning elsewhere; on an agent's line it opens the prompt.
    first.keys("1G7<CR>")
    first.wait("vim.g.mine == 7")
    first.keys("3G<CR>")
    first.wait("vim.api.nvim_buf_get_name(0) == 'acp://chat/1'")
    first.wait("vim.api.nvim_get_current_line():find('## You') ~= nil")
    assert "replace" in below_cursor(first)
    first.cmd("wincmd p")
    first.cmd("Acp blame")
    assert first.lua(MARKS) == []
    assert "let g:mine" in first.cmd("nmap <buffer> <CR>"), "the user's map is back"
    first.kill()

    second = start(edit, tmp_path)
    second.cmd(f"edit {path}")
    second.cmd("Acp blame")
    wait_blame(second, 3, "replace")
    second.keys("<CR>")
    second.wait("vim.api.nvim_buf_get_name(0):match('^acp://chat/') ~= nil")
    second.wait("vim.api.nvim_get_current_line():find('## You') ~= nil")
    assert "replace" in below_cursor(second)
    second.cmd("wincmd p")
    moved = path.with_name("b.txt")
    second.turn(shell(f"mv {path} {moved}", path, moved))
    second.wait_event("AcpEdit", 2)
    second.cmd(f"Acp blame export {tmp_path / 'trace.json'}")
    second.wait_message("Agent trace exported to")
    (file,) = json.loads((tmp_path / "trace.json").read_text())["files"]
    assert file["path"] == "b.txt"
    lines = [one["ranges"] for one in file["conversations"]]
    assert lines == [
        [{"start_line": 3, "end_line": 3}],
        [{"start_line": 4, "end_line": 4}],
    ]


def test_git_notes_on_the_commit_in_use_name_the_prompt(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = start(edit, tmp_path, blame_export="notes")
    path = editor.write("a.txt", "one\ntwo\nthree\n")
    editor.turn(f"replace {path} two TWO")
    editor.cmd("Acp blame export")
    editor.wait_message("No git repository here to put notes in")
    repository(editor.work)
    editor.turn(f"replace {path} one ONE")  # not in a commit yet
    editor.cmd("Acp blame export")
    editor.wait_message("Agent trace noted on commit")
    note = json.loads(git(editor.work, "notes", "--ref=refs/notes/acp", "show", "HEAD"))
    assert note["vcs"] == {"type": "git", "revision": git(editor.work, "rev-parse", "HEAD").strip()}
    (file,) = note["files"]
    assert [one["ranges"] for one in file["conversations"]] == [[{"start_line": 2, "end_line": 2}]]
    editor.cmd(f"Acp blame export {tmp_path / 'trace.json'}")  # where a path is typed
    editor.wait_message("Agent trace exported to")
    assert "vcs" not in json.loads((tmp_path / "trace.json").read_text())
    assert git(editor.work, "status", "--porcelain").split() == ["M", "a.txt"]


def test_blame_can_be_turned_off(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "one\n")
    editor.turn(f"replace {path} one ONE")
    editor.cmd(f"edit {path}")
    assert "Blame is off" in editor.cmd("Acp blame")
    editor.setup({"blame": True})
    editor.cmd("Acp blame")
    editor.wait_message("No agent is known")
    editor.setup({"blame": False})
    editor.cmd("Acp blame")
    assert (
        editor.lua(
            "return require('acp.features.blame.view').is_shown(vim.api.nvim_get_current_buf())"
        )
        is False
    )
    assert editor.cmd("nmap <buffer> <CR>").strip() == "No mapping found"
