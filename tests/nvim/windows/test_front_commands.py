"""Commands of the Lua front end in a real Neovim: their verbs and their errors."""

from __future__ import annotations

import re
from typing import Any

from tests.support.editor import Editor
from tests.support.front_without_host import (
    error_of,
    last,
    notifications,
    permission,
    sent,
    session,
)
from tests.support.lua import lua_chunk


def test_the_text_of_a_prompt_is_sent_as_typed(front: Editor) -> None:
    text = r'fix a | b \| c "d" \n % # <args> \\'
    front.cmd(f"AcpPrompt {text}")
    assert last(front)[1]["text"] == text
    front.cmd(f"Acp prompt {text}")
    assert last(front)[1]["text"] == text
    assert last(front)[1]["cwd"] == str(front.work)


def test_a_range_is_attached_to_the_prompt(front: Editor) -> None:
    path = front.write("a.py", "one\ntwo\nthree\n")
    front.open(path)
    front.cmd("2,3AcpPrompt why")
    lines = last(front)[1]["range"]
    assert (lines["first"], lines["last"], lines["text"]) == (2, 3, "two\nthree")
    assert (lines["path"], lines["filetype"]) == (str(path), "python")


def test_a_bang_requests_a_new_session(front: Editor) -> None:
    session(front)
    front.cmd("AcpPrompt! hello")
    assert last(front)[1]["new"] is True


def test_files_named_in_a_prompt_are_attached(front: Editor) -> None:
    path = front.write("src/a.py", "")
    front.cmd("AcpPrompt see @src/a.py, not me@src/a.py or @nothing")
    assert last(front)[1]["attach"] == [str(path)]


def test_variables_are_attached_and_leave_the_text_unchanged(front: Editor) -> None:
    front.open(front.write("a.txt", "first\nsecond\n"))
    front.lua(
        "vim.fn.setqflist({{ bufnr = vim.api.nvim_get_current_buf(), lnum = 2, text = 'bad' }})"
    )
    front.cmd("AcpPrompt fix @{quickfix} and @{nonsense}")
    arguments = last(front)[1]
    assert arguments["text"] == "fix @{quickfix} and @{nonsense}"
    assert [variable["name"] for variable in arguments["variables"]] == ["quickfix"]
    assert arguments["variables"][0]["text"].endswith("a.txt:2:0: bad")


NEAREST = [
    ("Acp chta", "chat"),
    ("Acp perm", "permissions"),
    ("Acp queue ru", "run"),
    ("Acp mode cod", "code"),
    ("Acp model smal", "small"),
    ("Acp option thnk", "think"),
    ("Acp option think tru", "true"),
    ("Acp agent claud", "claude"),
    ("Acp new gemni", "gemini"),
    ("Acp accept hnk", "hunk"),
    ("Acp allow ye", "yes"),
    ("Acp attach a.tx", "a.txt"),
]


def test_a_wrong_word_is_one_line_that_names_the_nearest(front: Editor) -> None:
    front.write("a.txt", "")
    session(front, permissions=[permission("p1")])
    for command, nearest in NEAREST:
        assert f"'{nearest}'" in error_of(front, command), command
    assert sent(front) == []


UNKNOWN = [
    ("Acp foo", "Unknown subcommand 'foo'. :Acp lists all"),
    ("Acp agent nope", "Unknown agent 'nope'. See :Acp agent"),
    ("Acp new nope", "Unknown agent or preset 'nope'. See :Acp agent"),  # :Acp new opens one
    ("Acp accept xyz", "Unknown argument of :Acp accept 'xyz'. Known: hunk, file, all"),
    ("Acp attach /nope", "Unknown file '/nope'"),
    ("Acp restore x", "Restore takes the number of a prompt, not 'x'"),
]


def test_a_word_without_a_near_match_is_refused(front: Editor) -> None:
    session(front, checkpoints=[{"n": 1, "label": "one"}])
    for command, message in UNKNOWN:
        assert error_of(front, command) == f"acp: {message}"
    assert sent(front) == []


VERBS: list[tuple[str, str, dict[str, Any]]] = [
    ("Acp mode code", "mode", {"id": "code"}),
    ("Acp model small", "option", {"id": "llm", "value": "small"}),
    ("Acp option think true", "option", {"id": "think", "value": True}),
    ("Acp allow", "allow", {"id": "p1"}),
    ("Acp deny no", "deny", {"id": "p1", "option": "no"}),
    ("Acp queue run", "queue", {"action": "run"}),
    ("Acp restore 2", "restore", {"n": 2}),
    ("Acp log", "log", {}),
    ("AcpCancel!", "cancel", {"clear": True}),
    ("Acp cancel", "cancel", {"clear": False}),
    ("Acp agent claude", "agent", {"name": "claude"}),
]


def test_subcommands_become_verbs(front: Editor) -> None:
    session(front, permissions=[permission("p1")])
    for command, verb, arguments in VERBS:
        front.lua("_G.sent = {}")
        front.answer(command)
        assert last(front) == [verb, arguments], command


def test_info_sends_the_version_of_the_plugin(front: Editor) -> None:
    front.cmd("Acp info")
    verb, arguments = last(front)
    assert verb == "info"
    assert re.fullmatch(r"\d+\.\d+\.\d+( \([0-9a-f]{8}\))?", arguments["version"])


def test_an_id_of_several_words_is_sent_unchanged(front: Editor) -> None:
    option = {"id": 'yes, "go" on', "name": "Yes", "kind": "allow_once"}
    session(front, permissions=[{**permission("p1"), "options": [option]}])
    front.answer('Acp allow yes, "go" on')
    assert last(front) == ["allow", {"id": "p1", "option": option["id"]}]
    assert "takes at most 1 argument, not 'go'" in error_of(front, "Acp allow yes, go")


def test_a_bar_begins_another_command_except_in_free_text(front: Editor) -> None:
    option = {"id": "this | that", "name": "Yes", "kind": "allow_once"}
    session(front, permissions=[{**permission("p1"), "options": [option]}])
    path = front.write("a|b.txt", "")
    front.cmd("Acp plan|let g:seen = 1 | let g:seen += 1")
    assert front.lua("return vim.g.seen") == 2
    assert front.lua("return vim.fn.getcompletion('Acp allow ', 'cmdline')") == [r"this\ \|\ that"]
    front.cmd(r"Acp attach a\|b.txt | let g:seen += 1")
    front.cmd(r"Acp send this | that \| those")
    assert (last(front)[1]["text"], last(front)[1]["attach"]) == (
        r"this | that \| those",
        [str(path)],
    )
    front.answer(r"Acp allow this \| that | let g:seen += 1")
    assert last(front) == ["allow", {"id": "p1", "option": option["id"]}]
    front.answer("Acp deny|let g:seen += 1")
    assert last(front) == ["deny", {"id": "p1"}]
    front.lua("vim.ui.select = function() vim.g.seen = vim.g.seen + 1 end")
    front.cmd("Acp | let g:seen += 1")
    assert front.lua("return vim.g.seen") == 7
    error_of(front, "Acp chat now | let g:seen += 1")
    assert front.lua("return vim.g.seen") == 7


def test_a_bar_in_a_value_of_an_agent_runs_nothing(front: Editor) -> None:
    option = {"id": "this | that", "name": "Yes", "kind": "allow_once"}
    session(front, permissions=[{**permission("p1"), "options": [option]}])
    front.answer("Acp allow this | that")
    assert last(front) == ["allow", {"id": "p1", "option": option["id"]}]
    for value in ("x | let g:seen = 1", "x|let g:seen = 1", "|let g:seen = 1", "this|"):
        front.lua("vim.cmd.Acp({ 'allow', ... })", value)
    assert front.lua("return vim.g.seen") is None
    assert last(front) == ["allow", {"id": "p1", "option": option["id"]}]


def test_comment_sends_its_text_and_place(front: Editor) -> None:
    path = front.write("a.txt", "one\ntwo\n")
    front.open(path)
    front.cmd("2")
    front.cmd("Acp comment why | this?")
    verb, arguments = last(front)
    assert verb == "comment"
    assert (arguments["text"], arguments["path"], arguments["line"]) == (
        "why | this?",
        str(path),
        2,
    )


def test_attach_accepts_names_with_spaces(front: Editor) -> None:
    path = front.write("my file.txt", "")
    front.cmd(r"Acp attach my\ file.txt")
    front.cmd("AcpPrompt look")
    assert last(front)[1]["attach"] == [str(path)]
    front.cmd("Acp attach -")
    assert last(front)[1]["clipboard"] is True


def test_commands_do_not_start_the_host_to_report_that_nothing_runs(front: Editor) -> None:
    front.lua("_G.host.running = false")
    for command in (
        "AcpCancel",
        "Acp allow",
        "Acp queue",
        "Acp edits",
        "Acp permissions",
        "Acp stop",
        "Acp chat",
    ):
        error_of(front, command)
    assert sent(front) == []


COMPLETED: list[tuple[str, list[str]]] = [
    ("Acp per", ["permissions"]),
    ("Acp queue ", ["edit", "run", "clear"]),
    ("Acp mode ", ["ask", "code"]),
    ("Acp model ", ["big", "small"]),
    ("Acp option ", ["llm", "think"]),
    ("Acp option think ", ["true", "false"]),
    ("Acp allow ", ["yes", "ever", "no"]),
    ("Acp accept ", ["hunk", "file", "all"]),
    ("Acp agent clau", ["claude"]),
    ("Acp attach my", [r"my\ file.txt"]),
    ("Acp info ", []),
]


def test_commands_are_completed(front: Editor) -> None:
    front.write("my file.txt", "")
    session(front, permissions=[permission("p1")])
    for line, some in COMPLETED:
        assert front.lua("return vim.fn.getcompletion(..., 'cmdline')", line) == some, line


def test_choices_are_shown_in_the_users_picker(front: Editor) -> None:
    session(front)
    front.lua("vim.ui.select = function(items, opts, done) _G.items = items done(items[2], 2) end")
    front.cmd("Acp mode")
    front.wait("_G.sent[1]")
    assert front.lua("return _G.items") == ["* Ask", "  Code"]
    assert last(front) == ["mode", {"id": "code", "shown": 1}]


def test_nothing_is_set_in_a_closed_session(front: Editor) -> None:
    session(front, status="closed")
    for command in ("mode", "mode code", "model", "model small", "option", "option think true"):
        front.cmd(f"Acp {command}")
    assert (
        notifications(front)
        == ["acp: This session is closed. Your next prompt opens a new one"] * 6
    )
    assert sent(front) == []


def test_a_listed_subcommand_asks_for_its_argument(front: Editor) -> None:
    front.open(front.write("a.txt", "one\n"))
    front.lua(lua_chunk(__file__, "choose_comment"))
    front.cmd("Acp")
    assert last(front)[0] == "comment"
    assert last(front)[1]["text"] == 'why | not "that"'
    assert re.fullmatch(r"Comment on .*:\d+: ", front.lua("return _G.prompt"))


def test_the_list_of_subcommands_has_groups_with_the_applicable_ones_first(front: Editor) -> None:
    front.lua(
        "vim.ui.select = function(items, opts) _G.items = vim.tbl_map(opts.format_item, items) end"
    )
    front.cmd("Acp")
    items = front.lua("return _G.items")
    groups = list(dict.fromkeys(item.split()[0] for item in items))
    assert groups == ["Talk", "Decide", "Review", "Sessions", "Help"]
    named = sorted(item.split()[1] for item in items)
    assert named == front.lua("return require('acp.features').names('subcommands')")
    session(front, permissions=[permission("p1")], status="running")
    front.cmd("Acp")
    now = [item.split()[1] for item in front.lua("return _G.items") if item.startswith("Now")]
    assert now == ["allow", "deny", "permissions", "refuse", "cancel"]
    assert len(front.lua("return _G.items")) == len(items)


def test_installed_agents_are_offered_first(front: Editor) -> None:
    agents = {"absent": {"command": ["no-such-program", "--acp"]}, "there": {"command": ["sh"]}}
    front.setup({"agent": "there", "agents": agents})
    front.lua("vim.ui.select = function(items, _, done) _G.items = items done(items[1], 1) end")
    front.cmd("Acp agent")
    items = front.lua("return _G.items")
    assert "* there: sh" in items
    assert "  absent: no-such-program --acp (not installed)" in items
    missing = ["(not installed)" in item for item in items]
    assert missing == sorted(missing)
    assert last(front)[0] == "agent"
    front.cmd("Acp agent tutor")
    front.cmd("Acp agent")
    assert "* tutor" in front.lua("return _G.items")
    front.setup({"agent": "there"})
    front.cmd("Acp agent")
    assert "* there: sh" in front.lua("return _G.items")


def test_acp_alone_lists_the_subcommands(front: Editor) -> None:
    front.lua(lua_chunk(__file__, "choose_second"))
    front.cmd("Acp")
    lines = front.lua("return _G.items")
    assert lines[1] == "Talk      cancel       cancel the turn"
    names = sorted(line.split()[1] for line in lines)
    assert names == front.lua("return require('acp.features').names('subcommands')")
    assert last(front)[0] == "cancel"


def test_an_error_in_a_command_is_one_line(front: Editor) -> None:
    front.lua("package.loaded['acp.base.host'].notify = function() error('broken\\nand more') end")
    assert error_of(front, "AcpPrompt hello") == "acp: broken"


NO_CHOICES = [
    ("model big", "acp: No model to choose from"),
    ("option think", "acp: No option to choose from"),
    ("option think high", "acp: No option to choose from"),
    ("restore 1x", "acp: Restore takes the number of a prompt, not '1x', did you mean '1'?"),
]


def test_an_argument_without_any_choices_is_refused(front: Editor) -> None:
    session(front, options=[], model={}, checkpoints=[{"n": 1, "label": "one"}])
    for command, line in NO_CHOICES:
        assert error_of(front, f"Acp {command}") == line
    session(front, status="starting", options=[], model={}, modes={"available": []})
    for kind in ("mode", "model", "option"):
        assert error_of(front, f"Acp {kind}") == (
            f"acp: The session is still starting. Choose its {kind} in a moment"
        )
    assert sent(front) == []


def test_a_review_of_an_unknown_file_names_the_nearest_pending_one(front: Editor) -> None:
    here, missing = str(front.write("mine.txt", "")), str(front.work / "gone.txt")
    edits = [{"path": path, "hunks": 1} for path in (str(front.work / "main.txt"), missing)]
    session(front, edits=edits)
    assert error_of(front, "Acp review man.txt") == (
        "acp: Unknown file 'man.txt', did you mean 'main.txt'?"
    )
    assert sent(front) == []
    for path in ("gone.txt", here):
        front.cmd(f"Acp review {path}")
    assert [arguments["path"] for _, arguments in sent(front)] == [missing, here]
