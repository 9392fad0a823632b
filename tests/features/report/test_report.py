"""`:Acp report`: a redacted file for a bug report."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

from tests.support.editor import ROOT, Editor

NAME = "acp://report"
PRIVATE = "the private plan"
TOKEN = "sk-ant-" + "api03-" + "Ab1" * 30
"""Value with the shape of a key."""


def report(editor: Editor, file: str = "") -> str:
    editor.keys(f":Acp report {file}<CR>")
    editor.wait("vim.fn.bufname() == ...", NAME)
    return "\n".join(editor.lines(NAME))


def test_a_report_has_versions_options_and_the_last_turn_but_no_texts(editor: Editor) -> None:
    editor.agent("script", env={"API_KEY": TOKEN})
    options = {"presets": {"p": {"system_prompt": PRIVATE}}, "chat": {"size": 0.5}}
    editor.setup(options)
    editor.turn(f"say {PRIVATE} {TOKEN}")
    text = report(editor)
    for part in (
        "## Versions",
        "acp.nvim 0.1.0",
        "chat.size = 0.5",
        f"presets.p.system_prompt = (text, {len(PRIVATE)} bytes)",
        "agents.script.env.API_KEY = (text, ",
        "  ok: Neovim ",
        "script: ready",
        "-> session/prompt #",
        "<- session/update agent_message_chunk",
        "session 1: script, idle, ",
    ):
        assert part in text
    assert "progress = " not in text, "it has its default, false"
    for private in (PRIVATE, TOKEN, str(Path.home())):
        assert private not in text


def test_the_version_has_the_commit_of_a_clone_and_of_a_linked_work_tree(
    editor: Editor, tmp_path: Path
) -> None:
    def git(*arguments: str) -> str:
        argv = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    copy, linked = tmp_path / "copy", tmp_path / "linked"
    git("init", "-q", "copy")
    (copy / "pyproject.toml").write_text('\nversion = "1.2"\n')
    git("-C", "copy", "add", ".")
    git("-C", "copy", "commit", "-qm", "one")
    commit = git("-C", "copy", "rev-parse", "--short=8", "HEAD").strip()
    git("-C", "copy", "worktree", "add", "-q", "../linked")
    version = "_G.root = ... require('acp.base.host.python').root = function() return _G.root end"
    version += " return require('acp.base.installation.version').line()"
    for root in (copy, linked):
        assert editor.lua(version, str(root)) == f"1.2 ({commit})"
    git("-C", "copy", "pack-refs", "--all")
    for root in (copy, linked):
        assert editor.lua(version, str(root)) == f"1.2 ({commit})"
    (copy / ".git").rename(tmp_path / "gone")
    assert editor.lua(version, str(copy)) == "1.2"
    module = tmp_path / "share/lua/5.1/acp/base/host/python.lua"  # as luarocks installs it
    module.parent.mkdir(parents=True)
    shutil.copy(ROOT / "lua/acp/base/host/python.lua", module)
    assert editor.lua("return dofile(...).root()", str(module)) == str(ROOT)


def test_a_report_is_written_by_the_user_only(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hello")
    report(editor, "bug.md")
    file = editor.work / "bug.md"
    assert not file.exists()
    editor.lua("vim.defer_fn(function() vim.cmd('silent! wall') _G.saved = true end, 1)")
    editor.wait("_G.saved")
    assert not file.exists()
    editor.keys("ggOread twice<Esc>q")
    editor.wait_message("Your changes are not applied yet. :w applies them")
    editor.keys("<C-s>")
    editor.wait_message("Report written to ")
    assert file.read_text().startswith("read twice\n# Report about acp.nvim\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    editor.keys("ggdd:w<CR>")
    editor.wait_message("The report is not written: file already exists")
    editor.keys(":Acp report<CR>")
    assert editor.lines(NAME)[0] == "# Report about acp.nvim"
    assert editor.lua("return vim.bo.modified"), "the changed report is still there"
    editor.keys(":w!<CR>")
    editor.wait("not vim.bo.modified")
    assert file.read_text().startswith("# Report about acp.nvim\n")
    editor.keys("q")
    editor.wait("vim.fn.bufexists(...) == 0", NAME)
    report(editor, "bug.md/below")
    editor.keys(":w<CR>")
    editor.wait_message("The report is not written: not a directory")
    editor.keys("q")
    editor.wait("vim.fn.bufexists(...) == 0", NAME)


def test_a_report_without_a_host_has_the_part_of_neovim(editor: Editor) -> None:
    text = report(editor)
    assert "## Health" in text
    assert "## Agents" not in text
    assert not editor.lua("return require('acp.base.host').is_running()")
