"""Files with odd names are reviewed, listed and restored like any other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.checkpoints import LIST
from tests.support.editor import Editor
from tests.support.front_without_host import Start
from tests.support.lua import lua_call
from tests.support.odd_names import ODD_NAMES, make_odd_files
from tests.support.pending_edits import choose_first
from tests.support.script_lines import shell

CHANGE = """
import os
from pathlib import Path

for folder, _, names in os.walk({work!r}):
    for name in names:
        Path(folder, name).write_text("one\\nagent\\n")
"""
RESOLVED = "return require('acp.base.paths').resolve_typed(...)"
SIDES = lua_call(__file__, "diff_windows")


@pytest.fixture
def odd(edit: Start) -> Editor:
    """Return an editor with a file of each odd name, all changed on disk by an agent."""
    editor = edit(screen=(120, 60))
    editor.setup({"chat": {"open": False}})
    make_odd_files(editor.work)
    script = editor.home / "change.py"
    script.write_text(CHANGE.format(work=str(editor.work)), encoding="utf-8")
    editor.agent("script")
    editor.turn(shell(f"python3 {script}"))
    editor.wait("#require('acp').state().sessions[1].edits == ...", len(ODD_NAMES))
    return editor


def sides(editor: Editor, path: Path | str) -> dict[str, Any]:
    """Return the windows of the review once it shows this file."""
    wanted = {"diff": True, "base": f"acp://base/1//{path}", "live": str(path)}
    editor.wait(f"return vim.deep_equal({SIDES}, ...)", wanted)
    return wanted


def test_each_file_is_reviewed_in_diff_mode(odd: Editor) -> None:
    paths = sorted((f"{odd.work}/{name}" for name in ODD_NAMES), key=os.fsencode)
    odd.cmd("Acp review")
    odd.wait("vim.api.nvim_buf_get_name(0) == ...", paths[0])
    for path in paths:
        found = odd.lua(f"return {SIDES}")
        assert found == {"diff": True, "base": f"acp://base/1//{path}", "live": path}
        bar = odd.lua("return vim.api.nvim_eval_statusline(vim.wo.winbar, { maxwidth = 120 }).str")
        shown = odd.lua("return require('acp.base.paths').display(...)", path)
        assert shown.encode(errors="replace")[-8:] in bar.encode(errors="replace")
        odd.keys("]f")
    listed = odd.lines("acp://review")
    assert len(listed) == len(paths)


def test_review_accepts_its_completions_and_the_result_of_fnameescape(odd: Editor) -> None:
    completions = odd.lua("return vim.fn.getcompletion('Acp review ', 'cmdline')")
    paths = {odd.lua(RESOLVED, argument) for argument in completions}
    assert paths == {f"{odd.work}/{name}" for name in ODD_NAMES}
    names = [name for name in ODD_NAMES if "\n" not in name and not name.startswith("~/")]
    escaped = {odd.lua("return vim.fn.fnameescape(...)", name): name for name in names}
    for argument in dict.fromkeys([*completions, *escaped]):
        odd.cmd(f"Acp review {argument}")
        path = odd.lua(RESOLVED, argument)
        sides(odd, path)
        assert path == f"{odd.work}/{escaped.get(argument, Path(path).relative_to(odd.work))}"


def test_the_list_of_hunks_leads_to_each_file(odd: Editor) -> None:
    odd.cmd("Acp edits")
    odd.wait("#vim.fn.getqflist() == ...", 2 * len(ODD_NAMES))  # a hunk, and a line about its file
    names = odd.lua(
        "return vim.tbl_map(function(i) return vim.api.nvim_buf_get_name(i.bufnr) end,"
        " vim.fn.getqflist())"
    )
    assert sorted({*names}) == sorted(f"{odd.work}/{name}" for name in ODD_NAMES)


def test_each_file_can_be_decided_in_its_buffer(odd: Editor) -> None:
    for i, name in enumerate(ODD_NAMES):
        odd.lua("vim.cmd.edit(vim.fn.fnameescape(...))", f"{odd.work}/{name}")
        odd.cmd(f"Acp {'accept' if i % 2 else 'reject'} file")
    odd.wait("#(require('acp').state().sessions[1].edits or {}) == 0")
    for i, name in enumerate(ODD_NAMES):
        text = Path(f"{odd.work}/{name}").read_text(encoding="utf-8")
        assert text == ("one\nagent\n" if i % 2 else "one\n"), name


def test_checkpoints_list_and_restore_each_file(odd: Editor) -> None:
    odd.cmd("Acp checkpoints")
    odd.wait("vim.api.nvim_buf_get_name(0) == ...", LIST)
    odd.lua("vim.fn.cursor(1, 1) require('acp.features.checkpoints.list').changes(0)")
    odd.wait("vim.bo.filetype ~= 'acpcheckpoints' and vim.fn.line('$') > ...", len(ODD_NAMES))
    choose_first(odd)
    odd.cmd("Acp restore 1")
    odd.wait("#(require('acp').state().sessions[1].edits or {}) == 0")
    for name in ODD_NAMES:
        assert Path(f"{odd.work}/{name}").read_text(encoding="utf-8") == "one\n", name
