"""Life of the host: started on first use, reported and replaced when it dies, ended with Neovim."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.processes import environment
from tests.support.rpc import EditorError
from tests.support.waiting import until

UPDATED = "The plugin was updated. Restart Neovim"
HOST = "return vim.fn.jobpid(require('acp.base.host').channel())"


def test_no_python_runs_before_first_use(editor: Editor) -> None:
    assert editor.state() == {"host": "stopped", "agents": [], "sessions": [], "elicitations": []}
    assert isinstance(editor.lua("return require('acp').statusline()"), str)
    editor.cmd("AcpCancel")
    assert len(editor.processes()) == 1


def test_a_host_that_dies_is_reported_in_one_line_and_replaced(editor: Editor) -> None:
    editor.errors_expected = True
    editor.agent("script")
    editor.turn("say one")
    os.kill(editor.lua(HOST), signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")
    lines = [line for line in editor.messages().splitlines() if "host ended" in line]
    assert len(lines) == 1
    assert "exit code 137" in lines[0]
    assert editor.session(1)["status"] == "failed"
    until(lambda: len(editor.processes()) == 1)
    assert editor.turn("say two")["session"] == 1
    assert editor.state()["host"] == "running"
    assert [line for line in editor.chat(1) if line in ("one", "two")] == ["one", "two"]


def test_an_update_is_named_as_the_cause_of_errors_and_after_a_restart(editor: Editor) -> None:
    """Modules are loaded late, so after an update code of two versions runs together."""
    editor.errors_expected = True
    editor.agent("script")
    editor.turn("say one")
    assert UPDATED not in editor.messages()
    editor.lua("vim.g.loaded_acp, vim.ui.select = 2, nil")  # the files are from after 1970
    editor.lua("require('acp.base.host').notify('nothing')")
    editor.wait_message(UPDATED)
    editor.keys(":Acp<CR>")
    until(lambda: editor.messages().count(UPDATED) == 2)
    assert "Not available" not in editor.messages()
    assert "nil" not in editor.messages()
    os.kill(editor.lua(HOST), signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")
    editor.turn("say two")
    until(lambda: editor.messages().count(UPDATED) == 3)


def test_nothing_keeps_running_when_the_host_is_gone(editor: Editor) -> None:
    editor.errors_expected = True
    agent = editor.agent("script")
    run = '{"command": "sleep", "args": ["100"]}'
    editor.prompt(f"term_create a {run}\nterm_embed a\nwait_for_cancel")
    agent.wait_answers("terminal/create")
    editor.wait("#require('acp').state().sessions[1].tool_calls == 1")
    editor.wait("#require('acp').state().sessions[1].terminals == 1")
    os.kill(editor.lua(HOST), signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")
    session = editor.session(1)
    assert session["tool_calls"][0]["status"] == "failed"
    assert session["terminals"][0]["running"] is False


def test_a_verb_without_arguments_is_sent_with_an_empty_map(editor: Editor) -> None:
    """MessagePack would encode an empty table as a list."""
    editor.agent("script")
    editor.turn("say one")
    editor.lua("vim.rpcnotify = function(_, _, _, args) _G.sent = vim.mpack.encode(args) end")
    for arguments in ("", ", {}"):
        editor.lua(f"require('acp.base.host').notify('log'{arguments})")
        assert editor.lua("return _G.sent == '\\128'")


def test_waiting_prompts_survive_the_host(editor: Editor) -> None:
    editor.errors_expected = True
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.prompt("say later")
    editor.wait("#require('acp').state().sessions[1].queue == 1")
    os.kill(editor.lua(HOST), signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")
    assert editor.lines("acp://composer/1") == ["wait_for_cancel", "say later"]


def test_quitting_ends_host_and_agent(edit: Callable[..., Editor]) -> None:
    editor = edit()
    editor.agent("script")
    editor.turn("say one")
    editor.quit()
    until(lambda: not editor.processes())


def test_a_killed_neovim_leaves_no_process(edit: Callable[..., Editor]) -> None:
    editor = edit()
    editor.agent("grandchildren")
    editor.turn("hello")
    editor.kill()
    until(lambda: not editor.processes())


def test_prompts_sent_while_everything_starts_arrive_in_order(editor: Editor) -> None:
    editor.agent("echo")
    for word in ("first", "second", "third"):
        editor.cmd(f"AcpPrompt {word}")
    editor.wait_event("AcpTurnEnd", 3)
    lines = [line for line in editor.chat(1) if line in ("first", "second", "third")]
    assert lines == ["first", "first", "second", "second", "third", "third"]


def test_missing_packages_are_named_and_the_prompt_is_not_lost(
    editor: Editor,
) -> None:
    editor.errors_expected = True
    python = editor.home / "bare"
    error = "ModuleNotFoundError: No module named 'anyio'"
    python.write_text(f'#!/bin/sh\necho "{error}" >&2\nexit 1\n')
    python.chmod(0o755)
    editor.setup({"python": str(python)})
    editor.cmd("AcpPrompt hello")
    editor.wait("require('acp').state().host == 'failed'")
    assert "No module named 'anyio'. Fix or remove the `python` option" in editor.messages()
    editor.wait("vim.fn.bufexists('acp://composer/1') == 1")
    assert editor.lines("acp://composer/1") == ["hello"]


DEAD = lua_chunk(__file__, "kill_host_before_channel")


def test_the_end_of_a_host_is_noticed_although_a_verb_comes_between(editor: Editor) -> None:
    editor.errors_expected = True
    editor.agent("script")
    editor.prompt("permission")
    editor.wait_screen("  :Acp allow · :Acp deny")
    editor.lua(DEAD)
    editor.wait("require('acp').state().host == 'failed'")
    editor.wait_screen("The host ended (exit code 137)")
    assert not any(":Acp allow" in row for row in editor.screen())
    assert editor.messages().count("The host ended (exit code 137)") == 1
    assert "traceback" not in editor.messages()


def greeter(editor: Editor) -> None:
    """Return an editor whose interpreter prints a greeting, unlike a host, and keeps running."""
    python = editor.home / "greeter"
    python.write_text("#!/bin/sh\necho welcome\nexec sleep 100\n")
    python.chmod(0o755)
    editor.setup({"python": str(python)})


CLOSED = "The host did not start. See :checkhealth acp (its output was not MessagePack"


def test_an_interpreter_that_greets_is_ended_by_the_next_command(editor: Editor) -> None:
    editor.errors_expected = True
    greeter(editor)
    editor.prompt("one")
    editor.wait("not pcall(vim.rpcnotify, require('acp.base.host').channel() or 0, 'x')")
    with pytest.raises(EditorError, match="host rejected prompt"):
        editor.prompt("two")
    editor.wait("require('acp').state().host == 'failed'")
    assert CLOSED in editor.messages()
    assert editor.lines("acp://composer/1") == ["one", "two"]
    until(lambda: len(editor.processes()) == 1)


def test_an_interpreter_that_greets_is_ended_after_a_while(editor: Editor) -> None:
    editor.errors_expected = True
    greeter(editor)
    editor.lua("require('acp.base.host').patience_ms = 200")
    editor.prompt("one")
    editor.wait("require('acp').state().host == 'failed'")
    assert CLOSED in editor.messages()
    assert editor.lines("acp://composer/1") == ["one"]


def test_a_host_that_is_slow_to_start_is_named(editor: Editor) -> None:
    python = editor.home / "slow"
    python.write_text("#!/bin/sh\nexec sleep 100\n")
    python.chmod(0o755)
    editor.setup({"python": str(python)})
    editor.lua("require('acp.base.host').patience_ms = 200")
    editor.prompt("one")
    editor.wait_message("host is still starting after 0.2 s")
    assert editor.state()["host"] == "starting"


def test_a_host_that_does_not_answer_is_named(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say one")
    editor.lua("require('acp.base.host').check_ms = 20")
    pid = editor.lua(HOST)
    os.kill(pid, signal.SIGSTOP)
    editor.prompt("say two")
    editor.wait_message(f"host has not answered for 0.1 s. After kill -9 {pid}")
    os.kill(pid, signal.SIGCONT)
    editor.wait_event("AcpTurnEnd", 2)


def test_a_host_that_answers_is_asked_once_and_not_named(editor: Editor) -> None:
    """The verb `ping` is sent after a verb that causes no frame."""
    editor.lua("require('acp.base.host').check_ms = 201")
    editor.lua(lua_chunk(__file__, "count_checks"), 201)
    editor.agent("script")
    editor.turn("say one")
    editor.wait("_G.checks > 0 and _G.due == 0")
    editor.lua("_G.checks = 0 require('acp.base.host').notify('async_reply', { id = 0 })")
    editor.wait("_G.due == 0")
    assert editor.lua("return _G.checks") == 2
    assert "not answered" not in editor.messages()


def test_the_agent_of_a_first_prompt_is_started_before_the_host(editor: Editor) -> None:
    """The host uses this agent, counts it and ends it like any other; a second agent is not started
    early.
    """
    editor.agent("script", name="first")
    editor.agent("script", name="second")
    editor.setup({"agent": "first", "agents": {"first": {"env": {"ODD": "a\n%0A=b"}}}})
    editor.turn("say one")
    agents = editor.state()["agents"]
    assert environment(agents["first"]["pid"])["ACP_NVIM_CHILD"].endswith(".0")
    assert environment(agents["first"]["pid"])["ODD"] == "a\n%0A=b"
    assert len([one for one in editor.processes() if "tests.agents" in one.command]) == 1
    editor.cmd("Acp new second")
    editor.turn("say two")
    second = environment(editor.state()["agents"]["second"]["pid"])
    assert not second["ACP_NVIM_CHILD"].endswith(".0")
    assert set(second) ^ set(environment(agents["first"]["pid"])) == {"ODD"}
