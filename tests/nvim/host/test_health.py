"""`:checkhealth acp`, and the message when nothing starts, on machines where something is
missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import ROOT, Editor
from tests.support.lua import lua_chunk
from tests.support.rpc import EditorError
from tests.support.waiting import until

Start = Callable[..., Editor]
FAILED = "require('acp').state().host == 'failed'"
NEEDED = {"anyio": "4.8", "msgspec": "0.19", "pynvim": "0.6", "unidiff": "0.7.5"}
MISSING = r"No module named '\w+'\. Run :Acp install \({}\)"


def program(path: Path, text: str) -> str:
    """Write a shell script in place of an interpreter."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def fake_python(path: Path, **versions: str) -> str:
    """Write an interpreter that reports these versions and starts nothing."""
    return program(path, f"[ \"$1\" = -c ] && echo '{json.dumps(versions)}'")


def health(editor: Editor) -> str:
    editor.cmd("checkhealth acp")
    report: str = editor.wait(
        "vim.bo.filetype == 'checkhealth'"
        " and table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"
    )
    return report


def failure(editor: Editor) -> str:
    """Return the message when a prompt cannot be sent; the prompt is back in the composer."""
    editor.errors_expected = True
    editor.cmd("AcpPrompt hello")
    editor.wait(FAILED)
    editor.wait("vim.fn.bufexists('acp://composer/1') == 1")
    assert editor.lines("acp://composer/1") == ["hello"]
    message: str = editor.wait("vim.fn.execute('messages'):match('acp: [^\\n]*')")
    return message


@pytest.fixture
def copy(edit: Start, tmp_path: Path) -> tuple[Editor, Path]:
    """Return a function that starts an editor on a copy of the plugin without `.venv`, where
    python3 on PATH lacks the packages.
    """
    root = tmp_path / "plugin"
    for name in ("lua", "plugin", "acp_nvim"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    program(bin_ / "python3", f'exec {sys.executable} -E -S "$@"')
    init = f"vim.opt.runtimepath:prepend({str(root)!r})\n"
    return edit(init=init, env={"PATH": f"{bin_}:{os.environ['PATH']}"}, screen=(200, 40)), root


def venv(root: Path) -> Path:
    """Make an environment without packages and return its interpreter."""
    make = [sys.executable, "-m", "venv", "--without-pip", str(root / ".venv")]
    subprocess.run(make, check=True)
    return root / ".venv/bin/python"


def test_an_interpreter_that_is_too_old_is_named(editor: Editor) -> None:
    old = "acp.nvim needs Python 3.11; this is 3.9.2"
    text = f"[ \"$1\" = -c ] && echo '{json.dumps({'python': '3.9.2'})}' || echo '{old}' >&2"
    path = program(editor.home / "old", text)
    editor.setup({"python": path})
    assert failure(editor).startswith(
        "acp: Python 3.9.2 is too old. Fix or remove the `python` option"
    )
    report = health(editor)
    assert f"ERROR {path}: Python 3.9.2 (from option `python`), but 3.11 is needed" in report
    assert "missing" not in report


def test_the_host_reports_that_its_python_is_too_old() -> None:
    code = (
        "import sys, runpy; sys.version_info = (3, 9, 2); sys.version = '3.9.2 (main)';"
        "runpy.run_module('acp_nvim', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "acp.nvim needs Python 3.11; this is 3.9.2\n"


def test_a_host_that_neovim_has_not_started_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "acp_nvim"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "acp_nvim is started by the Neovim that it serves: see :help acp\n"


def test_an_agent_elsewhere_is_shown_without_secrets_and_needs_more_packages(
    editor: Editor,
) -> None:
    before = health(editor)
    assert "websockets" not in before
    url = "wss://me:pa55@127.0.0.1:9/acp?token=t0ken"
    editor.agent("script", name="near", via=["env"])
    near = editor.options["agents"]["near"]
    editor.setup({"agent": "far", "agents": {"far": {"url": url}, "near": near}})
    report = health(editor)
    assert "WARNING far: cannot reach wss://127.0.0.1:9/acp: Connection refused" in report
    assert "OK near: reached, Scripted 1 answered after " in report
    assert "pa55" not in report
    assert "t0ken" not in report
    assert "far (for new sessions): at wss://127.0.0.1:9/acp\n" in report
    assert all(f"OK {name} " in report for name in ("websockets", "httpx", "h2", "certifi"))


def test_packages_that_are_missing_or_too_old_are_named(editor: Editor) -> None:
    found = {"python": "3.12.1", "pynvim": "0.4.3", "msgspec": "0.20.0rc1"}
    editor.setup({"python": fake_python(editor.home / "some", **found)})
    report = health(editor)
    assert "Python 3.12.1 (from option `python`)" in report
    assert "ERROR pynvim 0.4.3 is too old, 0.6 is needed" in report
    assert "OK msgspec 0.20.0rc1" in report
    assert "ERROR anyio, unidiff are missing" in report
    assert report.count("Fix or remove the `python` option") == 2


def test_the_requirements_are_those_of_the_package(editor: Editor) -> None:
    editor.setup({"python": fake_python(editor.home / "least", python="3.11.0", **NEEDED)})
    report = health(editor)
    assert "ERROR" not in report
    assert all(f"OK {name} {version}" in report for name, version in NEEDED.items())


def test_a_missing_interpreter_is_named(editor: Editor) -> None:
    editor.setup({"python": "/nowhere/python"})
    with pytest.raises(EditorError, match=r"Python not found\. Fix or remove the `python` option"):
        editor.cmd("AcpPrompt hello")
    assert editor.lines("acp://composer/1") == ["hello"]
    assert "ERROR /nowhere/python cannot be run (from option `python`)" in health(editor)


def test_an_interpreter_that_never_ends_is_reported(editor: Editor) -> None:
    gate = editor.home / "end"
    path = program(editor.home / "endless", f"while [ ! -e '{gate}' ]; do sleep 0.1; done")
    editor.setup({"python": path})
    editor.lua("require('acp.base.installation.checks').patience_ms = 200")
    report = health(editor)
    gate.touch()
    assert f"ERROR {path} does not answer: it does not finish" in report
    assert "acp: options" in report


def test_an_interpreter_that_does_not_answer_is_reported(editor: Editor) -> None:
    path = program(editor.home / "strange", "echo first >&2; echo 'no such thing' >&2; exit 3")
    editor.setup({"python": path})
    assert f"{path} does not answer: no such thing" in health(editor)
    assert "The host did not start. See :checkhealth acp (no such thing)" in failure(editor)


def test_a_line_that_arrives_in_pieces_is_one(editor: Editor) -> None:
    words = (
        "printf 'one\\nModuleNotFound' >&2; sleep 0.1; printf \"Error: No module named 'x'\" >&2"
    )
    editor.setup({"python": program(editor.home / "slow", f"{words}; exit 1")})
    assert "No module named 'x'. Fix or remove the `python` option" in failure(editor)
    assert editor.lua("return require('acp.base.host').stderr()") == [
        "one",
        "ModuleNotFoundError: No module named 'x'",
    ]


def test_a_directory_for_data_that_cannot_be_written_is_named(editor: Editor) -> None:
    folder = Path(editor.lua("return vim.fn.stdpath('data')")) / "acp"
    assert "acp: data" in health(editor)
    assert "cannot be written" not in health(editor)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")
    assert f"ERROR {folder} cannot be written" in health(editor)


# ---- git


def test_missing_git_is_reported(edit: Start, tmp_path: Path) -> None:
    editor = edit(env={"PATH": str(tmp_path)}, screen=(200, 40))
    editor.agent("script")
    path = editor.write("a.txt", "one\n")
    editor.turn(f'write {path} "two\\n"')
    warning = "⚠ No checkpoints, and changes on disk are not noticed: git is not installed"
    assert editor.chat().count(warning) == 1
    assert [edit["hunks"] for edit in editor.session(1)["edits"]] == [1]
    editor.cmd("Acp reject all")
    until(lambda: path.read_text() == "one\n")
    warned = "WARNING git is not installed: no checkpoints, and changes on disk are not noticed"
    assert warned in health(editor)


# ---- .venv


def test_without_an_environment_python3_is_used(copy: tuple[Editor, Path]) -> None:
    editor, _ = copy
    assert re.search(MISSING.format("python3"), failure(editor))
    report = health(editor)
    assert "from PATH" in report
    assert "anyio, msgspec, pynvim, unidiff are missing" in report
    assert "broken" not in report


def test_an_environment_without_packages_is_reported(copy: tuple[Editor, Path]) -> None:
    editor, root = copy
    path = venv(root)
    assert re.search(MISSING.format(re.escape(str(path))), failure(editor))
    assert f"{path}: Python 3." in health(editor)


def test_an_environment_without_its_interpreter_is_reported(copy: tuple[Editor, Path]) -> None:
    editor, root = copy
    path = venv(root)
    path.unlink()
    path.symlink_to("/nowhere/python")
    assert "The .venv is broken. Run :Acp install" in failure(editor)
    assert "WARNING The .venv is broken: its interpreter is gone" in health(editor)


UNREACHABLE = "the package index cannot be reached"
STEPS = """
return vim.tbl_map(function(step)
  return { step.argv, step.env or {} }
end, (require('acp.features.install.environment').steps()))
"""


def test_install_rebuilds_a_broken_environment_and_keeps_a_working_one(
    copy: tuple[Editor, Path],
) -> None:
    editor, root = copy
    path = venv(root)
    repairs = [argv for argv, _ in editor.lua(STEPS)]
    assert not any("venv" in argv for argv in repairs)
    path.unlink()
    path.symlink_to("/nowhere/python")
    made, env = editor.lua(STEPS)[0]
    assert made[-1] == str(root / ".venv")
    assert "--clear" in made or env == {"UV_VENV_CLEAR": "1"}

    editor.lua("vim.env.PATH = (...) .. ':' .. vim.env.PATH", str(editor.home))
    note = "note: This error originates from a subprocess"
    for output, reason in (
        (f"  ERROR: No space left\n{note}", "No space left"),
        (f"WARNING: Retrying after connection broken by X\nERROR: none\n{note}", UNREACHABLE),
        ("error: Failed to fetch: x\n  Caused by: dns error", UNREACHABLE),
        ("it is\nnot there\n", "not there"),
    ):
        program(editor.home / "uv", f"printf '%s' '{output}' >&2; exit 2")
        editor.errors_expected = True
        editor.cmd("Acp install")
        editor.wait_message(f"Install failed: {reason} (")
        editor.cmd("messages clear")
    os.mkfifo(editor.home / "end")
    program(editor.home / "uv", f"cat {editor.home}/end; exit 2")
    editor.cmd("Acp install")
    assert "The .venv is broken. Wait for :Acp install to finish" in failure(editor)
    (editor.home / "end").write_text("")
    editor.wait_message("Install failed: ")


READ_ONLY = lua_chunk(__file__, "refuse_write_access")
"""Makes the directory read-only in effect; tests may run as root, who can write everywhere."""


def test_the_environment_is_in_the_data_folder_if_the_plugins_is_read_only(
    copy: tuple[Editor, Path],
) -> None:
    editor, root = copy
    editor.lua(READ_ONLY, str(root))
    data = Path(editor.lua("return vim.fn.stdpath('data')")) / "acp/venv"
    steps = [argv for argv, _ in editor.lua(STEPS)]
    assert steps[0][-1] == str(data)
    assert steps[-1][0] == str(data / "bin/python")
    assert steps[-1][1] == "-X"
    assert steps[-1][2].startswith("pycache_prefix=")
    data.parent.mkdir(parents=True)
    make = [sys.executable, "-m", "venv", "--without-pip", str(data)]
    subprocess.run(make, check=True)
    packages = next((data / "lib").glob("python3*")) / "site-packages/test.pth"
    packages.write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    editor.cmd("AcpPrompt hello")
    editor.wait_event("AcpTurnEnd")
    assert not list(root.rglob("__pycache__"))


# ---- agents


def test_programs_of_agents_are_listed(editor: Editor) -> None:
    there = editor.write("there", "")
    agents = {
        "gone": {"command": ["/nowhere/agent"]},
        "text": {"command": [str(there)]},
        "named": {"command": ["no-such-agent"]},
    }
    editor.setup({"agent": "named", "agents": agents})
    editor.errors_expected = True
    editor.cmd("AcpPrompt hello")
    editor.wait("require('acp').state().agents.named.status == 'failed'")
    report = health(editor)
    assert "WARNING gone: /nowhere/agent does not exist" in report
    assert f"WARNING text: {there} cannot be run" in report
    assert "ERROR named (for new sessions): no-such-agent is not on PATH" in report
    assert report.count("named") == 1
    (others,) = [row for row in report.split("\n") if " others not installed: " in row]
    assert "codex" in others or "OK codex: " in report


def test_installation_of_the_chosen_agent_is_described(editor: Editor) -> None:
    editor.setup({"agent": "goose", "agents": {"goose": {"command": ["no-such-goose"]}}})
    report = health(editor)
    assert "no-such-goose is not on PATH" in report
    assert "Install it: " in report


def test_system_and_options_are_checked_before_the_parts_that_depend_on_them(
    editor: Editor,
) -> None:
    report = health(editor)
    names = ("Neovim", "system", "options", "Python", "agents")
    heads = [report.index(f"acp: {head}") for head in names]
    assert heads == sorted(heads)
    assert "OK Linux: all tests run on it" in report
    editor.lua("vim.uv.os_uname = function() return { sysname = 'Darwin' } end")
    assert "Darwin is not tested itself" in health(editor)


def test_usable_agents_are_listed_before_those_not_installed(editor: Editor) -> None:
    editor.agent("script")
    editor.setup({"agents": {"zebra": {"command": ["sh"]}, "aardvark": {"command": ["/nowhere"]}}})
    report = health(editor)
    names = ["script (for new sessions)", "tutor: embedded", "zebra: ", "aardvark: /nowhere"]
    places = [report.index(name) for name in [*names, "not installed"]]
    assert places == sorted(places), report


def test_info_shows_an_agent_that_failed(editor: Editor) -> None:
    editor.agent("exit_at_once")
    editor.errors_expected = True
    editor.cmd("AcpPrompt hello")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufnr('acp://info') > 0")
    lines = editor.lines("acp://info")
    assert lines[1].startswith("  interpreter: /")
    assert "agent exit_at_once: failed (exit_at_once ended: exit code 7)" in lines
    assert lines[lines.index("  last words:") + 1] == "    missing configuration"
