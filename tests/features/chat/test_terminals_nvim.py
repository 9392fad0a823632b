"""Agents' terminals in a real Neovim: live output, colours, stopping, and the end of their
processes.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.features.terminals.live_terminals import MAX_BYTES
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.processes import HAS_PROC
from tests.support.waiting import until

CHOOSE = lua_chunk(__file__, "answer_choices")

HAS = """
local name, text = ...
local lines = vim.api.nvim_buf_get_lines(vim.fn.bufnr(name), 0, -1, false)
return table.concat(lines, '\\n'):find(text, 1, true)
"""

HOSTILE = (
    r"printf '\033]0;owned\007\033]52;c;b3duZWQ=\007\033]7;file:///etc\033\\\033]1337;File=:eA==\007"
    r"\033P+q544e\033\\\033[21t\033[c\033[31mred\033[0m plain\n'"
)


def create(name: str, command: str, **more: Any) -> str:
    """Return a script line that creates a terminal."""
    return f"term_create {name} {json.dumps({'command': command, **more})}"


def start(editor: Editor, command: str, **more: Any) -> str:
    """Run a command in a terminal of a turn that ends at once; return the terminal's id."""
    before = len((editor.session() or {}).get("terminals", [])) if editor.state()["sessions"] else 0
    editor.turn(f"{create('t1', command, **more)}\nterm_embed t1")
    terminals = editor.wait(
        "local t = require('acp').state().sessions[1].terminals return #t > ... and t", before
    )
    return str(terminals[-1]["id"])


def open_terminal(editor: Editor, *choices: int) -> str:
    """Run `:Acp terminals` and pick these items; return the name of the buffer it opens."""
    editor.lua(CHOOSE, *choices)
    editor.cmd("Acp terminals")
    editor.wait("vim.bo.filetype == 'acpterminal'")
    return str(editor.lua("return vim.api.nvim_buf_get_name(0)"))


def wait_ended(editor: Editor) -> dict[str, Any]:
    """Wait until the newest terminal of session 1 has ended, and return it."""
    code = "local t = require('acp').state().sessions[1].terminals t = t[#t]"
    found: dict[str, Any] = editor.wait(f"{code} return t and not t.running and t")
    return found


@pytest.fixture(autouse=True)
def script(editor: Editor) -> None:
    """Return an editor whose agent runs the lines of each prompt."""
    editor.agent("script")


# -- in the chat


def test_a_command_is_run_and_shown(editor: Editor) -> None:
    editor.turn("shell sh -c 'echo out; echo err >&2; exit 3'")
    chat = editor.chat()
    at = chat.index("$ sh -c 'echo out; echo err >&2; exit 3'")
    assert chat[at + 1 : at + 4] == ["out", "err", "✗ exit code 3"]
    assert '"exitStatus": {"exitCode": 3, "signal": null}}' in "\n".join(chat)
    (shown,) = editor.session()["terminals"]
    assert shown.pop("id").startswith("term-")
    assert shown == {
        "command": "sh -c 'echo out; echo err >&2; exit 3'",
        "running": False,
        "exit_code": 3,
    }


def test_the_capability_is_announced_and_can_be_turned_off(editor: Editor) -> None:
    editor.turn("title T")
    capabilities = editor.traffic[0].wait("initialize")["params"]["clientCapabilities"]
    assert capabilities["terminal"] is True
    assert capabilities["_meta"]["terminal_output"] is True
    editor.setup({"terminal": {"enabled": False}})
    other = editor.agent("script", name="other")
    editor.cmd("Acp new other")
    capabilities = other.wait("initialize")["params"]["clientCapabilities"]
    assert not capabilities.get("terminal")
    editor.wait_event("AcpSession", 2)


def test_output_is_live_in_the_tool_call_and_stays_after_release(editor: Editor) -> None:
    fifo = editor.work / "fifo"
    os.mkfifo(fifo)
    command = f"printf 'one\\ntw'; cat {fifo}"
    script = [create("t1", command), "term_embed t1", "term_wait t1", "term_release t1"]
    editor.prompt("\n".join([*script, "term_done t1"]))
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    until(lambda: "  tw" in editor.chat())
    assert editor.session()["terminals"][0]["running"] is True
    fifo.write_text("o\nthree\n")
    editor.wait_event("AcpTurnEnd")
    chat = editor.chat()
    at = chat.index("  one")
    assert chat[at - 1 : at + 3] == [f"  $ {command}", "  one", "  two", "  three"]
    assert chat.count(f"  $ {command}") == 1
    assert f"$ {command}" not in chat, "what a tool call shows is not shown above it as well"


def test_escape_sequences_are_not_shown_in_the_chat(editor: Editor) -> None:
    start(editor, HOSTILE + r"; printf '50%%\r100%%\n'")
    wait_ended(editor)
    until(lambda: "  red plain" in editor.chat())
    chat = editor.chat()
    assert chat[chat.index("  red plain") + 1] == "  100%"
    assert not any(c < " " or "\x7f" <= c < "\xa0" for line in chat for c in line)


def test_directory_and_environment_are_shown_without_secrets(editor: Editor) -> None:
    env = [{"name": "API_TOKEN", "value": "s3cret"}, {"name": "X", "value": "1"}]
    start(editor, "true", cwd="/", env=env)
    until(
        lambda: (
            {"  in /", "  with API_TOKEN=**** (6 characters)", "  with X=1"} <= set(editor.chat())
        )
    )
    assert "s3cret" not in "\n".join(editor.chat()[editor.chat().index("## Scripted") :])


def test_terminals_that_an_agent_runs_itself_are_shown(editor: Editor) -> None:
    editor.turn(
        "term_told_call c9 make\n"
        'term_told c9 {"terminal_output": {"terminal_id": "c9", "data": "one\\n\\u001b[31mtw"}}\n'
        'term_told c9 {"terminal_output_delta": {"data": "o\\n"}}\n'
        'term_told c9 {"terminal_exit": {"terminal_id": "c9", "exit_code": 2, "signal": null}}'
    )
    chat = editor.chat()
    at = chat.index("  $ make")
    assert chat[at : at + 5] == ["  $ make", "  in /", "  one", "  two", "  ✗ exit code 2"]
    assert editor.session()["terminals"] == [
        {"id": "c9", "command": "make", "running": False, "exit_code": 2}
    ]
    name = open_terminal(editor)
    assert name == "acp://terminal/1/c9"
    editor.wait(HAS, name, "one\ntwo\n")
    editor.keys("iignored<C-\\><C-n>")
    editor.cmd("Acp info")


# -- rules


def test_a_denied_command_does_not_run(editor: Editor) -> None:
    editor.setup({"permission": {"rules": [{"action": "deny", "command": "touch *"}]}})
    editor.turn(f"shell touch {editor.work}/made")
    chat = "\n".join(editor.chat())
    assert "create: error -32602" in chat
    assert f"touch {editor.work}/made" in chat
    assert not (editor.work / "made").exists()
    assert editor.session().get("permissions", []) == []
    assert editor.session().get("terminals", []) == []


@pytest.mark.parametrize("allow", [True, False])
def test_a_rule_asks_before_a_command_runs(editor: Editor, allow: bool) -> None:
    editor.setup({"permission": {"rules": [{"action": "ask", "kind": "execute"}]}})
    made = editor.work / "made"
    env = [{"name": "X", "value": "1"}]
    editor.prompt(f"{create('t1', f'touch {made}; true', cwd='/', env=env)}\nterm_wait t1")
    data = editor.wait_event("AcpPermission")
    assert f"touch {made}; true" in data["title"]
    until(lambda: any("with X=1" in line for line in editor.chat()))
    assert any(line.strip() == "in /" for line in editor.chat())
    assert not made.exists()
    editor.answer("Acp allow" if allow else "Acp deny")
    editor.wait_event("AcpTurnEnd")
    assert made.exists() is allow
    assert ("t1 create: error -32602" in "\n".join(editor.chat())) is not allow


def test_a_cancelled_turn_answers_the_question(editor: Editor) -> None:
    editor.setup({"permission": {"rules": [{"action": "ask"}]}})
    editor.prompt(f"{create('t1', 'true')}\nwait_for_cancel")
    editor.wait_event("AcpPermission")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    (answer,) = editor.traffic[0].answers("terminal/create")
    assert answer["error"]["data"]["reason"] == "denied"


# -- the buffer


def test_the_buffer_shows_colours_and_drops_unsafe_sequences(editor: Editor) -> None:
    editor.lua(
        "_G.requests = 0 vim.api.nvim_create_autocmd('TermRequest', { callback = function() "
        "_G.requests = _G.requests + 1 end })"
    )
    id = start(editor, HOSTILE)
    wait_ended(editor)
    name = open_terminal(editor)
    assert name == f"acp://terminal/1/{id}"
    assert editor.lua("return { vim.bo.filetype, vim.bo.buftype, vim.bo.modeline }") == [
        "acpterminal",
        "terminal",
        False,
    ]
    editor.wait(HAS, name, "[exit code 0]")
    title = editor.lua("return vim.b.term_title or ''")
    assert "owned" not in title
    assert editor.lua("return _G.requests") == 0
    editor.screen()
    row = editor.lua("return vim.fn.screenpos(0, 1, 1).row")
    red, plain = editor.lua(
        "vim.cmd.redraw() return { vim.fn.screenattr(..., 1), vim.fn.screenattr(..., 5) }", row
    )
    assert red != plain


def test_output_that_no_window_showed_appears_in_the_next_window(editor: Editor) -> None:
    start(editor, 'stty -echo; while read line; do echo "got $line"; done')
    name = open_terminal(editor)
    editor.keys("ione<CR>")
    editor.wait(HAS, name, "got one")
    editor.keys("<C-\\><C-n>q")
    editor.wait("vim.fn.bufwinid(...) == -1", name)
    editor.lua(
        "local args = { session = 1, id = ..., keys = 'two\\r' } "
        "require('acp.base.host').notify('terminal_input', args)",
        name.rpartition("/")[2],
    )
    until(lambda: "  got two" in editor.chat())
    assert "got two" not in "\n".join(editor.lines(name)), "nobody looks"
    assert open_terminal(editor) == name
    editor.wait(HAS, name, "got one\ngot two")


def test_a_deleted_buffer_is_not_an_error_and_opens_again_in_full(editor: Editor) -> None:
    start(editor, "echo first; i=0; while :; do i=$((i+1)); echo line $i; sleep 0.01; done")
    name = open_terminal(editor)
    editor.wait(HAS, name, "line 5")
    editor.cmd("bwipeout!")
    until(lambda: any("line 6" in line or "line 7" in line for line in editor.chat()))
    assert open_terminal(editor) == name
    editor.wait(HAS, name, "first\nline 1\n")
    editor.cmd("bdelete!")
    assert open_terminal(editor) == name
    editor.wait(HAS, name, "first\nline 1\n")


def test_ctrl_c_in_the_buffer_ends_the_command(editor: Editor) -> None:
    start(editor, "echo up; sleep 600")
    name = open_terminal(editor)
    editor.wait(HAS, name, "up")
    editor.press_ctrl_c()
    assert wait_ended(editor)["signal"] == "SIGTERM"
    editor.wait(HAS, name, "[SIGTERM]")
    editor.press_ctrl_c()
    editor.wait_message("Nothing is running")
    editor.cmd("close")
    assert open_terminal(editor) == name
    editor.wait_screen("q closes")
    assert not any("<C-c> stops" in row for row in editor.screen())


def test_the_picker_lists_all_terminals_and_opens_the_chosen_one(editor: Editor) -> None:
    start(editor, "echo old")
    wait_ended(editor)
    id = start(editor, "sleep 600")
    assert open_terminal(editor) == f"acp://terminal/1/{id}"
    assert editor.lua("return _G.chosen") == [["sleep 600 · running", "echo old · exit code 0"]]
    assert editor.session()["terminals"][1]["running"] is True
    editor.wait_screen("<C-c> stops")
    editor.keys("g?")
    editor.wait_screen("stop the command in the terminal")
    editor.keys("q")
    editor.press_ctrl_c()
    assert wait_ended(editor)["signal"] == "SIGTERM"


AT_END = "vim.fn.line('.') == vim.fn.line('$') and vim.fn.line('w$') == vim.fn.line('$')"


def test_a_terminal_is_opened_at_its_end_and_follows(editor: Editor) -> None:
    fifo = editor.work / "fifo"
    os.mkfifo(fifo)
    start(editor, f"seq 1 300; cat {fifo}; sleep 600")
    name = open_terminal(editor)
    editor.wait(HAS, name, "300")
    editor.wait(AT_END)
    editor.wait_screen("300")
    fifo.write_text("and more\n" * 40 + "the last\n")
    editor.wait_screen("the last")
    editor.wait(AT_END)
    editor.keys("gg")
    editor.keys("q")
    assert open_terminal(editor) == name
    editor.wait(AT_END)
    editor.wait_screen("the last")


def test_the_command_says_that_there_are_no_terminals(editor: Editor) -> None:
    assert editor.cmd("Acp terminals") == "acp: No terminals"
    editor.turn("title T")
    editor.cmd("Acp terminals")
    editor.wait_message("No terminals")


def test_enter_on_the_line_of_a_terminal_opens_it_even_if_it_is_unknown(editor: Editor) -> None:
    id = start(editor, "echo hi")
    editor.turn("tool_contents")
    go = """
    vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))
    vim.cmd('normal! zR')
    return vim.fn.search(..., 'w')
    """
    assert editor.lua(go, "no-such-terminal") > 0
    editor.keys("<CR>")
    editor.wait_message("no-such-terminal")
    assert editor.lua(go, r"\$ echo hi") > 0
    editor.keys("<CR>")
    editor.wait("vim.api.nvim_buf_get_name(0) == ...", f"acp://terminal/1/{id}")


WRITTEN = lua_chunk(__file__, "note_terminal_writes")


def test_a_flood_of_output_is_written_in_pieces_with_keys_handled_between(editor: Editor) -> None:
    start(editor, "yes | head -c 8000000; echo THE END")
    editor.lua(WRITTEN)
    name = open_terminal(editor)
    while editor.session()["terminals"][0]["running"]:
        editor.keys("j")
    editor.wait(HAS, name, "THE END")
    longest, total = editor.lua("return { _G.longest, _G.total }")
    assert longest <= MAX_BYTES + 200 < total, "a key waits for one piece and its notes at most"


# -- the end of Neovim, host and agent

STUBBORN = "trap '' TERM HUP INT; echo up; while :; do sleep 1; done"


def test_quitting_neovim_leaves_no_process(editor: Editor) -> None:
    start(editor, STUBBORN)
    start(editor, "trap '' HUP; sleep 600 & echo done")
    editor.quit()
    until(lambda: editor.processes() == [])


def test_killing_neovim_leaves_no_process(editor: Editor) -> None:
    start(editor, STUBBORN)
    editor.kill()
    until(lambda: editor.processes() == [])


def test_killing_the_host_leaves_no_process(editor: Editor) -> None:
    start(editor, STUBBORN)
    (host,) = [p for p in editor.processes() if p.command.endswith("-m acp_nvim")]
    os.kill(host.pid, signal.SIGKILL)
    until(lambda: not [p for p in editor.processes() if "echo up" in p.command])
    editor.errors_expected = True


def test_a_terminated_host_ends_its_processes_before_itself(editor: Editor) -> None:
    """Neovim ends its jobs by SIGTERM, possibly before the end of the pipe."""
    start(editor, "sleep 600")
    host = editor.lua("return vim.fn.jobpid(require('acp.base.host').channel())")
    os.kill(host, signal.SIGTERM)
    editor.wait("require('acp').state().host == 'failed'")
    assert [p for p in editor.processes() if "sleep 600" in p.command] == []
    editor.errors_expected = True


def test_terminals_end_with_their_agent(editor: Editor) -> None:
    start(editor, "sleep 600")
    editor.prompt("exit 3")
    editor.wait_event("AcpAgentExit")
    assert wait_ended(editor)["signal"] == "SIGTERM"
    until(lambda: not [p for p in editor.processes() if "sleep 600" in p.command])


def test_stopping_the_agent_ends_its_terminals(editor: Editor, tmp_path: Path) -> None:
    start(editor, "sleep 600")
    editor.cmd("Acp stop")
    editor.wait_event("AcpAgentExit")
    until(lambda: not [p for p in editor.processes() if "sleep 600" in p.command])


# -- a cancelled turn


def running(editor: Editor, text: str) -> bool:
    return any(text in process.command for process in editor.processes())


def wait_waiting(editor: Editor) -> None:
    """Wait until the agent waits for a cancel."""
    editor.wait_event("AcpTurnStart", len(editor.events("AcpTurnEnd")) + 1)
    until(lambda: "waiting" in editor.chat())


def cancel(editor: Editor, *lines: str) -> None:
    """Run a script in a turn until it waits for a cancel, then cancel it."""
    turns = len(editor.events("AcpTurnEnd"))
    editor.prompt("\n".join([*lines, "wait_for_cancel"]))
    wait_waiting(editor)
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd", turns + 1)["stop_reason"] == "cancelled"


def test_a_cancel_ends_commands_that_the_turn_leaves_running(editor: Editor) -> None:
    editor.setup({"timeouts": {"cancel_s": 0.5, "kill_s": 0.5}})
    start(editor, "echo earlier; sleep 601")
    daemon = "(setsid sh -c 'touch up; exec sleep 605' &); until test -e up; do sleep 0.1; done"
    forged = [{"name": "ACP_NVIM_CHILD", "value": "mine"}]
    with_daemon = [create("d", daemon, env=forged), "term_wait d", "term_release d"]
    cancel(
        editor,
        create("a", "echo out; sleep 602 & sleep 603"),
        create("b", "trap '' TERM HUP; echo up; while :; do sleep 0.604; done"),
        create("c", "echo quick"),
        "term_wait c",
        *(with_daemon if HAS_PROC else []),  # else it would survive
    )
    if HAS_PROC:
        until(lambda: not running(editor, "sleep 605"))
        until(lambda: any("cancelled turn: sleep 605" in line for line in editor.chat()))
    until(lambda: not running(editor, "sleep 602") and not running(editor, "sleep 603"))
    until(lambda: not running(editor, "echo up"))
    until(
        lambda: any("Stopped with the cancelled turn: echo out" in line for line in editor.chat())
    )
    line, *_ = [line for line in editor.chat() if "Stopped with the cancelled turn" in line]
    assert "echo up" in line
    assert "quick" not in line
    assert running(editor, "sleep 601"), "it was started in another turn"
    states = editor.wait(
        "local t = require('acp').state().sessions[1].terminals"
        " return not t[2].running and not t[3].running and t"
    )
    assert [state["running"] for state in states] == [True] + [False] * (len(states) - 1)
    assert states[1]["signal"] == "SIGTERM"
    assert states[2]["signal"] == "SIGKILL"
    assert "out" in "\n".join(editor.chat())
    editor.turn("term_output a\nterm_wait a\nterm_wait b")
    answers = editor.traffic[0].answers("terminal/output")
    assert answers[-1]["result"]["output"] == "out\n"
    assert answers[-1]["result"]["exitStatus"]["signal"] == "SIGTERM"


def test_waiting_requests_are_answered_once_when_a_cancel_ends_their_terminal(
    editor: Editor,
) -> None:
    editor.setup({"timeouts": {"cancel_s": 0.3}})
    cancel(editor, create("a", "sleep 600"), "term_wait_later a")
    (answer,) = editor.traffic[0].wait_answers("terminal/wait_for_exit", 1)
    assert answer["result"]["signal"] == "SIGTERM"
    editor.turn("term_release a")
    assert len(editor.traffic[0].answers("terminal/wait_for_exit")) == 1


@pytest.mark.parametrize("by", ["term_kill a", "term_release a"])
def test_a_terminal_that_the_agent_ended_itself_is_not_reported(editor: Editor, by: str) -> None:
    editor.setup({"timeouts": {"cancel_s": 0.3}})
    cancel(editor, create("a", "sleep 600"), create("b", "sleep 700"), by)
    until(lambda: any("Stopped with the cancelled turn" in line for line in editor.chat()))
    (line,) = [line for line in editor.chat() if "Stopped with the cancelled turn" in line]
    assert "sleep 700" in line
    assert "sleep 600" not in line


def test_a_cancel_leaves_terminals_of_other_sessions_and_later_turns(editor: Editor) -> None:
    editor.setup({"timeouts": {"cancel_s": 1}})
    start(editor, "sleep 601")
    editor.cmd("Acp new")
    editor.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    cancel(editor, create("a", "sleep 602"))
    editor.turn(create("b", "sleep 603"))
    until(lambda: not running(editor, "sleep 602"))
    until(lambda: any("Stopped with the cancelled turn" in line for line in editor.chat()))
    assert running(editor, "sleep 601")
    assert running(editor, "sleep 603")


def test_no_command_is_started_for_a_turn_that_is_being_cancelled(editor: Editor) -> None:
    made = editor.work / "made"
    editor.prompt(f"say waiting\nafter_cancel {create('a', f'touch {made}')}")
    wait_waiting(editor)
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    (answer,) = editor.traffic[0].answers("terminal/create")
    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"]["reason"] == "denied"
    assert not made.exists()
    editor.turn(create("b", f"touch {made}") + "\nterm_wait b")
    assert made.exists(), "the next turn may"
