"""Ends of an agent, or of everything around it: messages for the user, and no process left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.portable import IS_PORTABLE
from tests.support.waiting import until


def cut_turn(editor: Editor, text: str) -> None:
    """Send a prompt whose turn the agent does not survive, with another one queued behind it."""
    editor.lua("for _, p in ipairs({ ... }) do require('acp').prompt(p) end", text, "say queued")
    editor.wait_event("AcpAgentExit")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")


@pytest.mark.parametrize(
    ("text", "how", "words"),
    [
        ("exit 3", "exit code 3", ["last words 0", "last words 1", "last words 2"]),
        ("die SIGKILL", "killed by SIGKILL", ["killed"]),
        ("die SIGSEGV", "killed by SIGSEGV", ["killed"]),
        ("exit 0", "exit code 0", ["last words 2"]),
    ],
)
def test_an_exit_in_a_turn_is_reported(
    editor: Editor, text: str, how: str, words: list[str]
) -> None:
    editor.agent("script")
    cut_turn(editor, text)
    chat = editor.chat(1)
    assert "before the end" in chat
    assert any(how in line and ":Acp restart" in line for line in chat)
    for word in words:
        assert any(word in line for line in chat)
    end = editor.events("AcpTurnEnd")[0]["data"]
    assert how in end["error"].splitlines()[0]
    assert end["error"].splitlines()[1:][-len(words) :] == words
    assert "stop_reason" not in end
    data = editor.wait_event("AcpAgentExit")
    assert (data.get("code"), data.get("signal")) == (
        (int(text[5:]), None) if text.startswith("exit") else (None, text[4:])
    )
    assert words[-1] in data["stderr"]
    session = editor.session(1)
    assert all(call["status"] == "failed" for call in session["tool_calls"])
    assert session["queue"] == ["say queued"]
    assert editor.lines("acp://composer/1") == [text]
    agent = editor.state()["agents"]["script"]
    assert agent["status"] == "exited"
    assert how in agent["error"]
    assert "pid" not in agent


def test_the_exit_of_a_killed_agent_does_not_quote_lines_of_its_start(editor: Editor) -> None:
    agent = editor.agent("starts_loud")
    editor.prompt("wait_for_cancel")
    agent.wait("session/prompt")
    os.kill(editor.state()["agents"]["starts_loud"]["pid"], signal.SIGKILL)
    data = editor.wait_event("AcpAgentExit")
    assert "starting 13" in data["stderr"]
    chat = "\n".join(editor.chat(1))
    assert "killed by SIGKILL" in chat
    assert "starting 13" not in chat


def test_an_agent_that_closes_its_output_is_not_reported_as_killed(editor: Editor) -> None:
    """The plugin ends it, since nothing more can arrive; the signal explains nothing."""
    editor.agent("script")
    cut_turn(editor, "closes_output")
    assert any("closed its output" in line for line in editor.chat(1))
    end = editor.events("AcpTurnEnd")[0]["data"]
    assert "closed its output" in end["error"]
    assert "SIG" not in end["error"]
    assert editor.session(1)["queue"] == ["say queued"]


def test_the_last_line_without_a_newline_is_quoted(editor: Editor) -> None:
    editor.agent("script")
    end = editor.turn("ends_in_a_line")
    assert end["stop_reason"] == "end_turn"
    assert "error" not in end
    assert "before the end" in editor.chat(1)
    editor.wait_event("AcpAgentExit")


def test_a_last_line_that_is_cut_is_not_quoted(editor: Editor) -> None:
    editor.agent("script")
    end = editor.turn("ends_in_a_line 1")
    assert "stop_reason" not in end
    assert "exit code 0" in end["error"]
    assert editor.lines("acp://composer/1") == ["ends_in_a_line 1"]


def test_an_agent_that_closes_its_input_is_given_up(editor: Editor) -> None:
    """No cancel, answer or prompt can reach it."""
    editor.agent("script")
    editor.setup({"timeouts": {"kill_s": 0.2}})
    cut_turn(editor, "closes_input")
    assert "before the end" in editor.chat(1)
    assert any("closed its input" in line for line in editor.chat(1))
    end = editor.events("AcpTurnEnd")[0]["data"]
    assert "closed its input" in end["error"]
    assert editor.session(1)["queue"] == ["say queued"]
    assert editor.lines("acp://composer/1") == ["closes_input"]


def test_restart_continues_in_the_same_window(editor: Editor) -> None:
    traffic = editor.agent("exit_once", str(editor.home / "mark"), "echo")
    editor.prompt("say it")
    editor.wait_event("AcpAgentExit")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    window = editor.lua("return vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1'))")
    editor.cmd("Acp restart")
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    editor.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    editor.keys("<Esc><CR>")
    editor.wait_event("AcpTurnEnd", 2)
    assert window == editor.lua("return vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1'))")
    assert editor.chat(1).count("say it") == 3
    assert len(traffic.pids()) == 2


def test_the_next_prompt_starts_an_agent_that_has_ended(editor: Editor) -> None:
    traffic = editor.agent("exit_once", str(editor.home / "mark"), "echo")
    editor.prompt("say it")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'failed'")
    assert len(traffic.pids()) == 1
    editor.prompt("again")
    editor.wait_event("AcpTurnEnd", 2)
    assert "again" in editor.chat(1)
    assert editor.session(1)["status"] == "idle"


def test_a_session_with_an_empty_id_is_refused(editor: Editor) -> None:
    """No cancel would reach it."""
    agent = editor.agent("script", new_session={"sessionId": ""})
    editor.prompt("keep these words")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'failed'")
    editor.wait("vim.fn.bufnr('acp://composer/1') > 0")
    assert editor.lines("acp://composer/1") == ["keep these words"]
    assert any("sessionId: empty" in line for line in editor.chat(1))
    assert not agent.received("session/prompt")


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (["exit_at_once"], "exit code 7"),
        (["exit_in_handshake"], "exit code 8. It was started twice"),
        (["says_why_on_stdout"], "unknown flag: ^[[1m--stdio"),
        (["wrong_version"], "protocol 99"),
        (["refuses_initialize"], "not today"),
        (["refuses_initialize", "-32602"], "not today"),
        (["refuses_session"], "no session for you"),
    ],
)
def test_an_agent_that_does_not_start_is_reported(
    editor: Editor, scenario: list[str], reason: str
) -> None:
    editor.agent(*scenario)
    editor.prompt("keep these words")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'failed'")
    editor.wait("vim.fn.bufnr('acp://composer/1') > 0")
    assert editor.lines("acp://composer/1") == ["keep these words"]
    assert any(reason in line for line in editor.chat(1))
    assert not editor.session(1)["queue"]


def test_an_agent_that_ends_in_both_handshakes_is_reported(editor: Editor) -> None:
    """One line says that it was started twice, followed by its output at each start."""
    traffic = editor.agent("ends_at_both_versions")
    editor.prompt("keep these words")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'failed'")
    assert len(traffic.pids()) == 2
    chat = editor.chat(1)
    [ended] = [line for line in chat if "exit code 4" in line]
    assert "started twice" in ended
    assert any("acp: cannot unmarshal number" in line for line in chat)
    assert any("no licence found" in line for line in chat)
    assert "started twice" in editor.state()["agents"]["ends_at_both_versions"]["error"]


def test_a_missing_program_is_reported(editor: Editor) -> None:
    editor.setup({"agent": "none", "agents": {"none": {"command": ["no-such-program-at-all"]}}})
    editor.prompt("keep these words")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'failed'")
    assert any("no-such-program-at-all: not found on PATH" in line for line in editor.chat(1))
    assert editor.state()["agents"]["none"]["status"] == "failed"


def busy(editor: Editor, kind: str = "deaf") -> None:
    """Start an agent with a child process in the middle of a turn."""
    traffic = editor.agent("grandchildren", kind)
    editor.prompt("wait_for_cancel")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'running'")
    traffic.wait_note("child")


def wait_gone(editor: Editor) -> None:
    """Wait until no process of an editor is left."""
    until(lambda: not editor.processes(), 10, "the end of all processes")


def test_qall_leaves_no_process(editor: Editor) -> None:
    busy(editor)
    editor.quit()
    wait_gone(editor)


def test_a_killed_neovim_leaves_no_process(edit: Callable[..., Editor]) -> None:
    editor = edit()
    busy(editor)
    editor.kill()
    wait_gone(editor)


def test_a_killed_host_leaves_no_process_and_is_reported_in_one_line(editor: Editor) -> None:
    busy(editor)
    before = {process.pid for process in editor.processes()}
    host = editor.lua("return vim.fn.jobpid(require('acp.base.host').channel())")
    os.kill(host, signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")
    until(lambda: {p.pid for p in editor.processes()} <= before - {host})
    until(lambda: len(editor.processes()) == 1, 10, "only Neovim is left")
    assert editor.session(1)["status"] == "failed"
    assert len([line for line in editor.messages().split("\n") if "host ended" in line]) == 1
    assert editor.turn("say here again")["session"] == 1, "in the chat that is there"
    editor.errors_expected = True


@pytest.mark.skipif(IS_PORTABLE, reason="only /proc has the marks of daemons")
def test_a_daemon_from_a_terminal_ends_with_its_agent(editor: Editor) -> None:
    """It survives the release of its terminal, since the agent started it to run on."""
    editor.agent("script")
    editor.turn("shell sh -c '(setsid sleep 600 &) ; sleep 0.1'")

    def daemons() -> list[str]:
        return [p.command for p in editor.processes() if p.command.startswith("sleep 600")]

    assert len(daemons()) == 1
    editor.cmd("Acp restart")
    editor.wait_event("AcpAgentReady", 2)
    assert daemons() == []


def test_an_agent_that_is_stopped_while_it_starts_stays_stopped(editor: Editor) -> None:
    """Prompts written meanwhile wait, the first one in the composer."""
    traffic = editor.agent("mute")
    for text in ("one", "two", "three"):
        editor.prompt(text)
    traffic.wait_note("start")
    editor.wait("#(require('acp').state().sessions[1] or {}).queue == 3")
    editor.cmd("Acp stop")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    assert editor.session(1)["queue"] == ["two", "three"]
    assert editor.lines("acp://composer/1") == ["one"]
    editor.wait("vim.api.nvim_exec2('messages', { output = true }).output:find('was stopped')")
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufnr('acp://info') > 0")
    assert not any("mute: starting" in line for line in editor.lines("acp://info"))
    assert len(traffic.pids()) == 1
    assert editor.session(1)["status"] == "failed"


def test_restart_ends_the_whole_process_tree_first(editor: Editor) -> None:
    busy(editor)
    before = {p.pid for p in editor.processes() if "signal.pause()" in p.command}
    editor.cmd("Acp restart")
    editor.wait_event("AcpAgentReady", 2)
    assert not before & {p.pid for p in editor.processes()}


def test_an_agents_stderr_is_in_the_log(editor: Editor, tmp_path: Path) -> None:
    editor.agent("script")
    editor.turn("stderr 2")
    file = tmp_path / "log"
    editor.cmd(f"Acp log save {file}")
    until(file.exists)
    until(lambda: "noise 1" in file.read_text())
