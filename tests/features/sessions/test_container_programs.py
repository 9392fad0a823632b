"""Agents in containers by docker, kubectl and devcontainer, whose arguments are read strictly."""

from __future__ import annotations

import json
import os
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.container_programs import NAME, install
from tests.support.editor import Editor
from tests.support.killed_host import kill_both
from tests.support.other_place import THERE, processes_there
from tests.support.waiting import until

KINDS: Final[dict[str, dict[str, Any]]] = {
    "docker": {"container": NAME},
    "kubectl": {"pod": NAME, "container": "main"},
    "devcontainer": {},
}


@pytest.fixture
def editor(edit: Callable[..., Editor], tmp_path: Path) -> Editor:
    """Return an editor with the three programs on its PATH."""
    work = tmp_path / "project"
    work.mkdir()
    env = install(tmp_path / "bin", work)
    if env is None:
        pytest.skip("bwrap does not work here")
    return edit(env=env, work=work)


def test_an_agent_by_each_program(editor: Editor) -> None:
    editor.write("a.txt", "one\n")
    for number, (kind, options) in enumerate(KINDS.items(), 1):
        key = f"{uuid.uuid4()} 'a' $b"
        agent = editor.agent(
            "script",
            name=kind,
            via=kind,
            paths={str(editor.work): THERE},
            env={"KEY": key},
            **options,
        )
        where = {"command": "sh", "args": ["-c", 'pwd; echo "$KEY"; sleep 999 & sleep 999']}
        script = (
            f"read {THERE}/a.txt",
            "mcp nvim_buffers",
            f"term_create t1 {json.dumps(where)}",
            "slow 1000",
        )
        editor.cmd(f"Acp new {kind}")
        editor.prompt("\n".join(script))
        editor.wait_screen(key)
        editor.cmd("AcpCancel")
        assert editor.wait_event("AcpTurnEnd", number)["stop_reason"] == "cancelled"
        (read,) = agent.answers("fs/read_text_file")
        assert read["result"]["content"] == "one\n"
        assert THERE in editor.chat()
        assert any(note.startswith("mcp nvim_buffers ") for note in agent.notes())
        editor.cmd(f"Acp stop {kind}")
        until(lambda: not processes_there(key), what="no process there")  # noqa: B023


def test_a_login_gets_a_terminal_and_variables_by_name(editor: Editor) -> None:
    for name in ("docker", "kubectl"):
        mark = str(editor.home / f"{name}-logged-in")
        paths = {str(editor.work): THERE}
        editor.agent(
            "wants_login",
            mark,
            "t",
            "session/new",
            "0",
            env={"ACP_MARK": mark},
            name=name,
            via=name,
            paths=paths,
            **KINDS[name],
        )
        editor.cmd(f"Acp new {name}")
        editor.wait("require('acp').state().agents[...].status == 'auth_required'", name)
        editor.cmd("Acp login")
        if name == "kubectl":
            line = (
                "kubectl does not pass ACP_LOGIN, ACP_MARK, PYTHONPATH to the login: set it there"
            )
            editor.wait_message(line)
            editor.wait_message("Login to ")
            editor.errors_expected = True
            continue
        editor.wait_screen("Your code is 1234")
        editor.keys("<CR>")
        editor.wait("require('acp').state().sessions[1].status == 'idle'")
        assert Path(mark).read_text() == "yes"


def test_a_killed_client_or_neovim_leaves_no_process_in_a_container(editor: Editor) -> None:
    key = str(uuid.uuid4())
    agent = editor.agent(
        "script",
        via="docker",
        container=NAME,
        paths={str(editor.work): THERE},
        env={"KEY": key, "TMPDIR": str(editor.home)},
        capabilities={"sessionCapabilities": {"resume": {}}},
    )
    hidden = {"command": "sh", "args": ["-c", "setsid sleep 999 & sleep 999"]}
    prompt = f"mcp nvim_buffers\nterm_create t1 {json.dumps(hidden)}\nslow 1000"
    editor.prompt(prompt)
    until(lambda: len(processes_there(key)) >= 6)
    before = processes_there(key)
    os.kill(editor.state()["agents"]["script"]["pid"], signal.SIGKILL)
    end = editor.wait_event("AcpTurnEnd")
    assert end["error"] == "script: the connection ended. Connecting again"
    until(lambda: not set(before) & set(processes_there(key)), what="no process there")
    agent.wait("session/resume")
    editor.prompt(prompt)
    until(lambda: len(processes_there(key)) >= 6)
    kill_both(editor)
    until(lambda: not processes_there(key), what="no process there")
    until(lambda: not list(editor.home.glob("acp-nvim.*")), what="no directory of relays")
