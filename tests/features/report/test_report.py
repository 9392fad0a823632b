"""`:Acp report`: a redacted file for a bug report."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_nvim.agent.settings import AgentSettings
from acp_nvim.agent.wire.redact import Redactor
from acp_nvim.features.report import redaction
from tests.support.editor import ROOT, Editor

NAME = "acp://report"
PRIVATE = "the private plan"
TOKEN = "sk-ant-" + "api03-" + "Ab1" * 30
"""Value with the shape of a key."""
WORDS = "correct horse battery"
"""Secret without the shape of one."""
LOADED = 1_500_000_000
"""Time when a plugin was loaded, in seconds."""
KEY_LINES = ["-----BEGIN PRIVATE " + "KEY-----", "MIIEvQIBADANBgkqhkiG9w0B" * 2, "QEFAASCB" * 3]


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
    for private in (PRIVATE, TOKEN, f"{editor.home}/"):
        assert private not in text


def test_the_version_has_the_commit_of_a_clone_and_of_a_linked_work_tree(
    editor: Editor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An update checks out another commit. A checkout of the same one and a commit are none."""

    def git(*arguments: str) -> str:
        argv = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    def updated() -> list[bool]:
        code = "require('acp.base.host.python').root = function() return ROOT end"
        code = f"ROOT, vim.g.loaded_acp = ... {code}"
        code += " return require('acp.base.installation.updated').is_updated()"
        return [editor.lua(code, str(root), LOADED) for root in (copy, linked)]

    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{LOADED} +0000")
    copy, linked = tmp_path / "copy", tmp_path / "linked"
    git("init", "-q", "-b", "main", "copy")
    (copy / "pyproject.toml").write_text('\nversion = "1.2"\n')
    git("-C", "copy", "add", ".")
    git("-C", "copy", "commit", "-qm", "one")
    commit = git("-C", "copy", "rev-parse", "--short=8", "HEAD").strip()
    git("-C", "copy", "worktree", "add", "-q", "../linked")
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    git("-C", "copy", "checkout", "-q", "main", "--")
    git("-C", "copy", "commit", "-q", "--allow-empty", "-m", "two")
    assert updated() == [False, False]
    git("-C", "linked", "merge", "-q", "--ff-only", "main")
    assert updated() == [False, True]
    git("-C", "copy", "reset", "-q", "--hard", "HEAD~")
    git("-C", "linked", "reset", "-q", "--hard", "HEAD~")
    assert updated() == [True, True]
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
    editor.wait_message("Your changes have not been applied. :w applies them")
    editor.keys("<C-s>")
    editor.wait_message("Report written to ")
    assert file.read_text().startswith("read twice\n# Report about acp.nvim\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    editor.keys("ggdd:w<CR>")
    editor.wait_message("The report was not written: file already exists")
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
    editor.wait_message("The report was not written: not a directory")
    editor.keys("q")
    editor.wait("vim.fn.bufexists(...) == 0", NAME)


def test_a_report_without_a_host_has_the_part_of_neovim_without_secrets(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = edit(env={"MY_PASSWORD": WORDS})
    meta = {"apiKey": "hunter2hunter2"}
    editor.setup(
        {
            "agents_file": f"/nowhere/{WORDS}/{TOKEN}.json",
            "agents": {"mine": {"command": ["x"], "meta": meta, "env": {"A_TOKEN": "my words"}}},
            "nonsense my words": True,
        }
    )
    text = report(editor)
    assert "## Health" in text
    assert "nonsense" in text
    assert "## Agents" not in text
    assert not editor.lua("return require('acp.base.host').is_running()")
    for private in (WORDS, TOKEN, "hunter2", "my words", f"{editor.home}/"):
        assert private not in text
    editor.keys("q")
    link = tmp_path / "link"
    link.symlink_to(editor.home)
    editor.lua("vim.env.HOME = ...", str(link))
    editor.setup({"python": f"{editor.home}/python"})
    text = report(editor)
    assert text.startswith("Python does not run here, so secrets were not searched for")
    assert "ERROR: ~/python cannot be run" in text


def test_secrets_of_an_agent_stay_out_of_a_report(editor: Editor) -> None:
    secrets = {"MY_PASSWORD": WORDS, "LICENSE_KEY": "\n".join(KEY_LINES)}
    info = {"_meta": {"note": "\n".join(KEY_LINES), "url": f"https://me:{WORDS[:7]}@host/"}}
    editor.agent("script", env=secrets, capabilities=info)
    far = {
        "url": f"ws://me:hunter2hunter2@127.0.0.1:9/?key={TOKEN}",
        "headers": {"X-A": "my words"},
    }
    editor.setup({"agents": {"far": far}})
    message = json.dumps({"message": "x" * 185 + WORDS + "\n" + "\n".join(KEY_LINES)})
    told = f"extension_told _no/{'y' * 60}{TOKEN}"
    editor.turn(
        f"{told}\nextension_told 'session/{'y' * 200}{WORDS}'\nrefuses_with -32603 {message}"
    )
    text = report(editor)
    assert "error -32603 xxx" in text
    assert "unknown notification (session/yyy" in text
    for private in (WORDS, "correct", TOKEN, "sk-ant", *KEY_LINES[1:], "my words", "hunter2"):
        assert private not in text


@pytest.mark.own_host
def test_a_report_of_a_host_that_does_not_answer_is_shown_without_its_part(
    editor: Editor,
) -> None:
    editor.agent("script")
    editor.turn("say hello")
    pid = editor.lua("return vim.fn.jobpid(require('acp.base.host').channel())")
    editor.lua("require('acp.base.installation.checks').ping_ms = 50")
    os.kill(pid, signal.SIGSTOP)
    try:
        text = report(editor)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert "ERROR: Running, but not answering" in text
    assert "## Sessions" not in text


def test_only_the_home_directory_itself_is_shortened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, link = tmp_path / "home", tmp_path / "home-link"
    real.mkdir()
    link.symlink_to(real)
    for home, other in ((real, real), (link, real)):
        monkeypatch.setenv("HOME", str(home))
        lines = [f"{home}/a {other}", f"{home}less/b", f"{home}.d/c", f"no {home}.", f"{home}..."]
        redacted = ["~/a ~", f"{home}less/b", f"{home}.d/c", "no ~.", "~..."]
        assert redaction.redact(lines, Redactor()) == redacted
    far = AgentSettings(url=f"ws://me:{WORDS}@host/", headers={"a": "my words"})
    known = redaction.known_secrets([far], {"MY_TOKEN": "value of it"})
    assert known == ["value of it", "value of it", "my words", WORDS, WORDS]
