"""Agents in another place (option `agents.*.via`): in a container, behind a real sshd."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.other_place import (
    SSHD,
    THERE,
    container,
    has_networks,
    network,
    processes_there,
    sshd,
)
from tests.support.pending_edits import edits_by_name, wait_edits
from tests.support.script_lines import update
from tests.support.traffic import Traffic
from tests.support.waiting import until


def test_a_container_with_another_path_for_the_workspace(editor: Editor) -> None:
    words = container(editor.work)
    if words is None:
        pytest.skip("bwrap does not work here")
    agent = editor.agent(
        "script",
        via="docker",
        container="replaced by a function below",
        paths={str(editor.work): THERE},
        env={"KEY": "a\nb\\n'c'"},
        capabilities={"loadSession": True, "sessionCapabilities": {"resume": {}}},
    )
    editor.lua(lua_chunk(__file__, "via_function"), editor.options, words)
    editor.write("a.txt", "one\ntwo\n")
    where = {"command": "pwd; test -t 0 || printf '%s' \"$KEY\"", "cwd": f"{THERE}/."}
    far = {"title": "look", "kind": "read", "locations": [{"path": "/etc/hostname"}]}
    diff = {"type": "diff", "path": "/etc/x", "oldText": "old\n", "newText": "new\n"}
    asked = {"title": "Change it", "kind": "edit", "content": [diff]}
    script = (
        f"read {THERE}/a.txt",
        f"replace {THERE}/./a.txt two TWO",
        f'edits_disk {THERE}/new.txt "disk\\n"',
        f"term_create t1 {json.dumps(where)}",
        "term_wait t1",
        "term_output t1",
        update(sessionUpdate="tool_call", toolCallId="far", status="completed", **far),
        "read /etc/hostname",
        f"asks_about p1 {json.dumps(asked)}",
    )
    editor.prompt("\n".join(script))
    editor.wait_event("AcpPermission")
    editor.see_question()
    assert any("script:/etc/x" in row for row in editor.screen())
    editor.cmd("Acp allow")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    read, *_, outside = agent.answers("fs/read_text_file")
    assert read["result"]["content"] == "one\ntwo\n"
    why = "in no directory of agents.*.paths, so not on this machine"
    assert outside["error"] == {
        "code": -32602,
        "message": f"/etc/hostname: {why}",
        "data": {"path": "/etc/hostname", "reason": "outside"},
    }
    chat = "\n".join(editor.chat())
    assert "script:/etc/hostname is not served: agents.script.paths has no directory" in chat
    assert f't1 output {{"output": "{THERE}\\na\\nb\\\\n\'c\'"' in chat
    wait_edits(editor, a="modified", new="created")
    assert {name: edit["named"] for name, edit in edits_by_name(editor).items()} == {
        "a.txt": True,
        "new.txt": True,
    }
    assert str(editor.work) not in agent.path.read_text()
    editor.cmd("Acp reject all")
    until(lambda: not (editor.work / "new.txt").exists())
    assert (editor.work / "a.txt").read_text() == "one\ntwo\n"
    editor.prompt("slow 1000")
    agent.wait("session/prompt", 2)
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd", 2)["stop_reason"] == "cancelled"
    editor.quit()


def test_paths_hold_for_an_agent_that_is_reached_by_its_own_command(editor: Editor) -> None:
    agent = editor.agent("script", paths={str(editor.work): THERE})
    editor.write("a.txt", "one\ntwo\n")
    far = {"title": "look", "kind": "read", "locations": [{"path": "/etc/hostname"}]}
    script = (
        f"read {THERE}/a.txt",
        f"replace {THERE}/a.txt two TWO",
        update(sessionUpdate="tool_call", toolCallId="far", status="completed", **far),
        f"read {editor.work}/a.txt",
    )
    assert editor.turn("\n".join(script))["stop_reason"] == "end_turn"
    read, *_, outside = agent.answers("fs/read_text_file")
    assert read["result"]["content"] == "one\ntwo\n"
    assert outside["error"]["data"]["reason"] == "outside"
    assert (editor.work / "a.txt").read_text() == "one\nTWO\n"
    wait_edits(editor, a="modified")
    (opened,) = agent.received("session/new")
    assert (opened["params"]["cwd"], opened["params"]["mcpServers"]) == (THERE, [])
    (look,) = (call for call in editor.session()["tool_calls"] if call["id"] == "far")
    assert look["locations"] == [{"path": "script:/etc/hostname"}]
    editor.options["agents"]["script"]["paths"] = {"/elsewhere": THERE}
    editor.setup({})
    editor.cmd("Acp restart")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    error = f"agents.script.paths does not have the directory {editor.work}"
    assert editor.session()["error"] == error


def test_a_host_behind_sshd_that_shares_no_files(editor: Editor) -> None:
    if SSHD is None:
        pytest.skip("there is no sshd here")
    key = f"a secret {uuid.uuid4()}"
    with sshd(editor.home / "sshd") as box:
        agent = editor.agent(
            "script",
            via=["ssh", "-F", str(box.config), "box"],
            cwd=str(editor.home),
            env={"KEY": key},
            capabilities={"sessionCapabilities": {"resume": {}}},
        )
        editor.write("a.txt", "one\n")
        left = {"command": "sh", "args": ["-c", 'setsid sleep 999 & echo "$KEY" >seen; sleep 999']}
        script = (
            f'edits_disk {editor.home}/a.txt "far\\n"',
            f"read {editor.work}/a.txt",
            f"term_create t1 {json.dumps(left)}",
            "slow 1000",
        )
        editor.prompt("\n".join(script))
        until(lambda: _is_there(editor.home / "seen"))
        assert (editor.home / "seen").read_text() == f"{key}\n"
        count = len(processes_there(key))
        editor.cmd("AcpCancel")
        assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
        until(lambda: len(processes_there(key)) <= count - 4)  # two shells, two times sleep
        chat = "\n".join(editor.chat())
        assert f"· script:{editor.home}/a.txt" in chat
        assert "has files of its own" in chat
        assert not editor.session().get("edits")
        editor.cmd("Acp restore 1")
        editor.wait_message("No checkpoints: the agent has files of its own (option `paths`)")
        served = agent.received("initialize")[0]["params"]["clientCapabilities"]["fs"]
        assert served == {"readTextFile": False, "writeTextFile": False}
        assert agent.received("session/new")[0]["params"]["cwd"] == str(editor.home)
        running = subprocess.check_output(["ps", "-A", "-ww", "-o", "args"], text=True)
        assert key.removeprefix("a secret ") not in running
        # The connection is cut in a turn.
        editor.prompt("slow 1000")
        agent.wait("session/prompt", 2)
        os.kill(editor.state()["agents"]["script"]["pid"], signal.SIGKILL)
        end = editor.wait_event("AcpTurnEnd", 2)
        assert end["error"] == "script: the connection ended. Connecting again"
        agent.wait("session/resume")
        until(lambda: len(processes_there(key)) < count)
        editor.quit()
        until(lambda: not processes_there(key))


@pytest.mark.parametrize("place", ["container", "sshd"])
def test_the_tools_of_the_editor_reach_an_agent_there(editor: Editor, place: str) -> None:
    """Its relay needs only a shell, and ends with the agent and all files of the connection."""
    ways = {"container": container(editor.work), "sshd": SSHD}
    if ways[place] is None:
        pytest.skip(f"{place} does not work here")
    with ExitStack() as stack:
        if place == "container":
            via, there = container(editor.work), THERE
        else:
            box = stack.enter_context(sshd(editor.home / "sshd"))
            via, there = ["ssh", "-F", str(box.config), "box"], str(editor.home / "there")
            Path(there).symlink_to(editor.work)
        relays, key = editor.home / "relays", str(uuid.uuid4())
        relays.mkdir()
        agent = editor.agent(
            "script",
            via=via,
            paths={str(editor.work): there},
            env={"TMPDIR": str(relays), "KEY": key},
        )
        editor.open(editor.write("a.txt", "saved\n"))
        editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, {'unsaved'})")
        edit = {"path": f"{there}/a.txt", "edits": [{"old": "unsaved", "new": "changed"}]}
        script = (
            "mcp_tools",
            f"mcp nvim_read {json.dumps({'path': f'{there}/a.txt'})}",
            f"mcp nvim_read {json.dumps({'path': '/etc/hostname'})}",
            f"mcp nvim_read {json.dumps({'path': f'{there}/none.txt'})}",
            "mcp_connect",
            f"mcp nvim_edit {json.dumps(edit)}",
            "mcp nvim_buffers",
        )
        editor.prompt("\n".join(script))
        editor.wait_event("AcpPermission")
        editor.answer("Acp allow")
        editor.wait_event("AcpTurnEnd")
        read, outside, missing = (result(agent, "nvim_read", nth) for nth in range(3))
        assert read["structuredContent"] == {
            "path": f"{there}/a.txt",
            "line": 1,
            "text": "unsaved\n",
        }
        assert outside["content"][0]["text"].startswith("/script:/etc/hostname: ")
        assert missing["content"][0]["text"].startswith(f"{there}/none.txt: ")
        assert not result(agent, "nvim_edit").get("isError")
        assert editor.lines(f"{editor.work}/a.txt") == ["changed"]
        wait_edits(editor, a="modified")
        assert editor.session()["tools"]["connected"] == 2
        (server,) = agent.received("session/new")[0]["params"]["mcpServers"]
        token = next(it["value"] for it in server["env"] if it["name"] == "ACP_NVIM_TOKEN")
        assert token not in subprocess.check_output(["ps", "-A", "-ww", "-o", "args"], text=True)
        saved = editor.home / "saved.log"
        editor.cmd(f"Acp log save {saved}")
        until(lambda: saved.exists() and "session/new" in saved.read_text())
        assert token not in saved.read_text()
        editor.turn("mcp_leave")
        editor.wait("require('acp').state().sessions[1].tools.connected == 0")
        assert agent.notes()[-2:] == ["mcp exit 0", "mcp exit 0"]
        editor.turn("mcp nvim_buffers")  # once more, with a relay that is left running
        (directory,) = relays.iterdir()
        assert {it.name for it in directory.iterdir()} == {"new", "end"}
        editor.quit()
        until(lambda: not processes_there(key))
        until(lambda: not list(relays.iterdir()))


def result(agent: Traffic, tool: str, nth: int = 0) -> dict[str, Any]:
    """Return the result of the nth call of a tool."""
    head = f"mcp {tool} "
    notes = [note.removeprefix(head) for note in agent.notes() if note.startswith(head)]
    found: dict[str, Any] = json.loads(notes[nth])["result"]
    return found


def _is_there(path: Path) -> bool:
    return path.exists() and path.read_bytes().endswith(b"\n")


def test_only_directories_that_the_place_has_are_sent(editor: Editor) -> None:
    editor.errors_expected = True
    roots: dict[str, Any] = {"sessionCapabilities": {"additionalDirectories": {}}}
    env = {"TMPDIR": "/no/directory"}
    agent = editor.agent("script", via=["env"], env=env, paths={"/else": THERE}, capabilities=roots)
    editor.prompt("say hello")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'failed'")
    error = f"agents.script.paths does not have the directory {editor.work}"
    assert editor.session()["error"] == error
    paths = {str(editor.work): str(editor.work)}
    files = {"directories": ["/etc", "sub"]}
    editor.setup({"agents": {"script": {"paths": paths}}, "files": files})
    editor.cmd("Acp restart")
    editor.cmd("Acp new")
    assert editor.turn("say hello")["stop_reason"] == "end_turn"
    sent = [one["params"] for one in agent.received("session/new")]  # of both sessions
    assert {one["cwd"] for one in sent} == {str(editor.work)}
    more = [one["additionalDirectories"] for one in sent if "additionalDirectories" in one]
    assert more == [[str(editor.work / "sub")]]
    # No directory for the relays can be made there.
    assert [one["mcpServers"] for one in sent] == [[]] * len(sent)
    reason = "not offered: mktemp and mkfifo do not work there"
    assert any(reason in line for line in editor.chat())


def test_a_cable_is_pulled_out_in_a_turn(editor: Editor) -> None:
    """Both sides notice it by themselves. The session is resumed when the cable is back."""
    if SSHD is None or not has_networks():
        pytest.skip("there is no sshd here, or no right to make a network")
    key = str(uuid.uuid4())
    with network() as cable, sshd(editor.home / "sshd", cable) as box:
        ssh = editor.home / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shlex.join(cable.here)} ssh "$@"\n')
        ssh.chmod(0o755)
        agent = editor.agent(
            "script",
            via=[str(ssh), "-F", str(box.config), "box"],
            paths={str(editor.work): str(editor.work)},
            env={"KEY": key, "TMPDIR": str(editor.home)},
            capabilities={"sessionCapabilities": {"resume": {}}},
        )
        left = {"command": "sh", "args": ["-c", "setsid sleep 999 & sleep 999"]}
        script = ("mcp nvim_buffers", f"term_create t1 {json.dumps(left)}", "slow 1000")
        editor.prompt("\n".join(script))
        until(lambda: len(processes_there(key)) >= 6)
        before = processes_there(key)
        (relays,) = editor.home.glob("acp-nvim.*")
        cable.plug(is_in=False)
        end = editor.wait_event("AcpTurnEnd")
        assert end["error"] == "script: the connection ended. Connecting again"
        until(lambda: not set(before) & set(processes_there(key)), what="no process there")
        until(lambda: not relays.exists())
        cable.plug(is_in=True)
        agent.wait("session/resume")
        assert editor.turn("mcp nvim_buffers")["stop_reason"] == "end_turn"
        editor.quit()
        until(lambda: not processes_there(key))
