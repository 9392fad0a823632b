"""Stored sessions in a later Neovim: found, read, continued, deleted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.days import KEY, Days
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick, picker_questions
from tests.support.killed_host import kill_host, wait_host
from tests.support.prompt_texts import transcript_in, words
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.stored_sessions import ALL
from tests.support.waiting import until


@pytest.fixture
def days(edit: Callable[..., Editor], tmp_path: Path) -> Days:
    return Days(edit, tmp_path)


EARLIER = """
local earlier = require('acp.features.prompts.earlier_prompts')
return vim.tbl_map(function(it) return it.text end, earlier.list())
"""


def chat_lines(editor: Editor, n: int) -> list[str]:
    """Return the lines of a chat without the last one, which says how the session was opened."""
    return [line for line in editor.chat(n) if line.strip()]


def wait_chat(editor: Editor, n: int) -> None:
    editor.wait("#vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/' .. ...)) > 0", n)


def test_a_users_days_with_the_history(days: Days) -> None:
    first = days.start()
    first.turn(f'say the zebra is in {KEY}\nthink well\ntools 3\nplan\nshell "echo stripes"')
    cost = {"amount": 0.5, "currency": "USD"}
    usage = {"used": 1234, "size": 200_000, "cost": cost}
    told_usage = json.dumps({"update": {"sessionUpdate": "usage_update", **usage}})
    first.turn(f"say and more\nextension_told session/update {told_usage}")
    before = chat_lines(first, 1)
    assert any(KEY in line for line in before)
    first.quit()
    files = [file for file in days.path.parent.iterdir() if file.name.startswith("history")]
    assert KEY.encode() not in b"".join(file.read_bytes() for file in files)
    assert days.path.stat().st_mode & 0o777 == 0o600

    second = days.start()
    title = "say the zebra is in «redacted»"
    (question, actions) = pick(second, "Acp history zebra", title, "open")
    assert question["items"] == [f"{title}  (script, now)"], "the title holds the line found"
    assert actions["items"] == ["open", "continue", "export", "delete"]
    wait_chat(second, 1)
    expected = [line.replace(KEY, "«redacted»") for line in before]
    second.wait("vim.api.nvim_buf_line_count(vim.fn.bufnr('acp://chat/1')) >= ...", len(expected))
    assert chat_lines(second, 1) == expected
    number = second.lua("return vim.fn.bufnr('acp://chat/1')")
    second.wait("vim.bo[...].filetype == 'acpchat'", number)
    assert not second.lua("return vim.bo[...].modifiable", number)
    assert second.session(1)["status"] == "closed"
    assert [step["content"] for step in second.session(1)["plan"]] == ["Look", "Think", "Act"]
    assert second.session(1)["usage"] == usage
    assert not second.state()["agents"], "to look starts no agent"

    second.turn("say back again")  # it continues in the opened chat
    session = second.session(2)
    assert session["status"] == "idle"
    prompt = second.traffic[0].received("session/prompt")[-1]
    assert words(prompt) == ["say back again"]
    assert "the zebra is in" in transcript_in(prompt), "the new session is told"
    assert "back again" not in transcript_in(prompt), "which goes on from there"
    assert any("includes the conversation so far" in line for line in second.chat(2))
    assert second.chat(2).count("## You") == expected.count("## You") + 1
    assert chat_lines(second, 2)[: len(expected)] == expected
    second.turn("say once more")
    assert "zebra" not in str(second.traffic[0].received("session/prompt")[-1])
    assert len(pick(second, "Acp history", "nothing")) == 1
    assert len(picker_questions(second)[-1]["items"]) == 1, "it is one session still"
    second.quit()
    assert days.messages()[-2:] == ["say once more", "once more"]

    third = days.start()
    third.cmd("Acp history stats")
    third.wait_screen("prompts")
    third.turn("say once more")  # in another session, too
    assert any(line.split()[1:3] == ["script", "4"] for line in third.screen())
    pick(third, "Acp history once more", title, "delete")
    third.wait_message("Deleted from the history")
    third.lua(
        "require('acp.features.prompts.earlier_prompts').when_complete(function() whole = true end)"
    )
    third.wait("whole and #require('acp.features.prompts.earlier_prompts').list() == 1")
    assert third.lua(EARLIER) == ["say once more"], "those of the deleted session are gone"
    third.cmd("Acp history zebra")
    third.wait_message("No match in the history: zebra")
    third.quit()
    assert days.records() == ["say once more"]
    fourth = days.start()
    fourth.cmd("Acp prompt")
    fourth.lua(
        "require('acp.features.prompts.earlier_prompts').when_complete(function() whole = true end)"
    )
    fourth.wait("whole")
    assert fourth.lua(EARLIER) == ["say once more"]


@pytest.mark.parametrize("action", ["resume", "load"])
def test_a_session_continues_at_an_agent_that_remembers_it(days: Days, action: str) -> None:
    resumes: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
    capabilities = {"loadSession": True} if action == "load" else resumes
    first = days.start(capabilities=capabilities)
    first.turn("say one")
    first.quit()
    second = days.start(capabilities=capabilities)
    pick(second, "Acp history one", "say one", "continue")
    second.wait("require('acp').state().sessions[1].status == 'idle'")
    (request,) = second.traffic[0].received(f"session/{action}")
    assert request["params"]["sessionId"] == "s1"
    second.turn("say two")
    assert [line for line in chat_lines(second, 1) if line in ("one", "two")] == ["one", "two"]
    second.quit()
    assert days.messages() == ["say one", "one", "say two", "two"]
    third = days.start(capabilities={**ALL, "loadSession": True})
    pick(third, "Acp sessions", "say one", "load")
    third.wait("require('acp').state().sessions[1].status == 'idle'")
    third.turn("say three")
    third.quit()
    assert days.messages() == ["say one", "one", "say two", "two", "say three", "three"]
    assert days.records() == ["say one"]


def test_one_key_opens_the_last_session_from_neovims_own_list(edit: Any, tmp_path: Path) -> None:
    days = Days(edit, tmp_path)
    first = days.start()
    assert first.cmd("Acp chat") == "acp: No session yet. :AcpPrompt starts one"
    first.turn("say the okapi")
    first.quit()

    second = days.start()
    second.lua("package.loaded['vim.ui'] = nil vim.ui.select = require('vim.ui').select")
    for key in ("n", "<Esc>", "y"):
        second.keys(":Acp chat<CR>")
        second.wait_screen("No session yet. Open the last one from this directory?")
        second.wait_screen("say the okapi")
        second.keys(key)
    wait_chat(second, 1)
    assert "the okapi" in second.chat(1)
    second.quit()

    third = days.start()
    third.lua("package.loaded['vim.ui'] = nil vim.ui.select = require('vim.ui').select")
    third.keys(":Acp chat<CR>")
    third.wait_screen("No session yet. Open the last one")
    third.keys("<CR>")
    wait_chat(third, 1)


@pytest.mark.parametrize("action", ["open", "resume", "load"])
def test_answered_questions_are_shown_in_the_next_neovim(days: Days, action: str) -> None:
    resumes: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
    capabilities = resumes if action == "resume" else {"loadSession": True}
    first = days.start(capabilities=capabilities)
    first.turn("say hello")
    agent = StepwiseAgent.at_work(first)
    agent.ask("asks_about", "p1", json.dumps({"rawInput": {"command": "ls -la"}}))
    first.answer("Acp allow")
    first.wait("#require('acp').state().sessions[1].permissions == 0")
    more = {"title": "Tidy up", "rawInput": {"command": "rm -rf /"}, "status": "completed"}
    agent.ask("tells_more", "p1", json.dumps(more))
    agent.end()
    first.wait_event("AcpTurnEnd", 2)
    before = after_answer(first)
    assert before[:2] == ["Asked:", "Scripted wants to run ls -la"]
    first.quit()

    second = days.start(capabilities=capabilities)
    pick(second, "Acp history ls -la", "say hello", "open" if action == "open" else "continue")
    wait_chat(second, 1)
    second.wait("vim.api.nvim_buf_line_count(vim.fn.bufnr('acp://chat/1')) > 5")
    assert after_answer(second) == before
    if action != "open":
        second.turn("say more")
        assert after_answer(second)[:2] == before[:2]


def after_answer(editor: Editor) -> list[str]:
    rows = [line.strip() for line in chat_lines(editor, 1)]
    return rows[rows.index("↳ Allow") + 1 :]


def test_a_session_continues_in_its_record_when_the_host_is_killed(days: Days) -> None:
    editor = days.start()
    editor.turn("say one")
    until(lambda: days.records() == ["say one"] and days.messages() == ["say one", "one"])
    kill_host(editor)
    editor.cmd("Acp edits")
    wait_host(editor)
    editor.turn("say two")
    editor.quit()
    assert days.messages() == ["say one", "one", "say two", "two"]
    assert days.records() == ["say one"]


def test_messages_from_before_neovim_was_killed_are_stored(days: Days) -> None:
    editor = days.start()
    editor.prompt("slow 1000 0.1")
    editor.wait_screen("tick 7")
    until(lambda: days.records() != [] and "tick 5" in "".join(days.messages()))
    assert editor.events("AcpTurnEnd") == []
    editor.kill()
    second = days.start()
    install_picker(second)
    (question,) = pick(second, "Acp history tick 5", "")
    assert "slow 1000" in question["items"][0]
    second.quit()


def test_earlier_prompts_are_recalled_and_searched(days: Days) -> None:
    first = days.start()
    first.turn("say apple")
    first.turn("say pear\nsay plum")
    for number in range(5):
        first.turn(f"say {number}")
    first.quit()
    second = days.start()
    second.cmd("AcpPrompt")
    second.keys("<Esc>")
    second.keys("6<C-p>")
    composer = "vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://composer/1'), 0, -1, false)"
    second.wait(f"vim.deep_equal({composer}, {{'say pear', 'say plum'}})")
    second.keys("<C-p>")
    second.wait(f"vim.deep_equal({composer}, {{'say apple'}})")
    second.keys("9<C-n>")
    second.wait(f"vim.deep_equal({composer}, {{''}})")
    second.keys("imy draft<Esc>")
    second.lua("_G.acp_answers = { 'say apple' }")
    second.keys("g/")
    second.wait(f"vim.deep_equal({composer}, {{'say apple'}})")
    numbers = [f"say {number}" for number in reversed(range(5))]
    assert picker_questions(second)[-1]["items"] == [*numbers, "say pear say plum", "say apple"]
    second.keys("9<C-n>")
    second.wait(f"vim.deep_equal({composer}, {{'my draft'}})")
    second.quit()


def test_an_earlier_subagent_opens_from_the_chat(days: Days) -> None:
    first = days.start("subagent")
    first.turn("go")
    first.quit()
    second = days.start("subagent")
    for _ in range(2):  # the second time it is there already
        pick(second, "Acp history Explorer", "go", "open")
        wait_chat(second, 1)
        second.wait("vim.fn.getbufline('acp://chat/1', 1, '$')[9] ~= nil")
    assert len(second.state()["sessions"]) == 1
    second.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1'))[1])")
    second.wait("vim.fn.search('Explorer') > 0")
    second.keys("<CR>")
    wait_chat(second, 2)
    second.wait_screen("I am looking")


def test_the_users_picker_searches_as_they_type(days: Days) -> None:
    editor = days.start()
    editor.turn("say zebra")
    editor.lua(
        "require('acp').history({ search = ... }, function(list) _G.found = list end)", "zeb"
    )
    editor.wait("_G.found ~= nil")
    (found,) = editor.lua("return _G.found")
    assert (found["title"], found["agent"], found["line"]) == ("say zebra", "script", "zebra")
    assert "zebra" in "\n".join(found["preview"])
    editor.lua(
        "require('acp').history({ preview = ... }, function(l) _G.lines = l end)", found["id"]
    )
    editor.wait("_G.lines ~= nil")
    assert "## You" in editor.lua("return _G.lines")
    editor.cmd("enew | only")
    editor.lua("require('acp').history({ open = ... })", found["id"])
    wait_chat(editor, 1)
    assert len(editor.state()["sessions"]) == 1, "it is open here: its own chat is shown"


def test_the_next_neovim_offers_the_last_session_of_its_directory(days: Days) -> None:
    first = days.start()
    first.turn("say the zebra")
    first.cmd("Acp new")
    first.wait("#vim.tbl_keys(require('acp').state().sessions) == 2")
    first.turn("say the okapi")
    first.quit()

    second = days.start()
    [question] = pick(second, "Acp chat", "say the okapi")
    assert question["prompt"] == "No session yet. Open the last one from this directory?"
    assert [item.partition("  ")[0] for item in question["items"]] == ["say the okapi"]
    wait_chat(second, 1)
    assert "the okapi" in second.chat(1)
    second.turn("say go on")
    assert second.session()["status"] == "idle"


def test_sessions_of_a_directory_whose_name_is_not_utf_8_are_found(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = edit(work=tmp_path / os.fsdecode(b"caf\xe9"))
    install_picker(editor)
    editor.agent("script")
    editor.turn("say hello")
    for search in ("Acp history", "Acp history hello"):
        asked = len(picker_questions(editor))
        editor.cmd(search)
        editor.wait("#_G.acp_asked > ...", asked)
        assert picker_questions(editor)[-1]["items"] == ["say hello  (script, now)"]


def test_nothing_is_offered_without_a_session_of_this_directory(days: Days) -> None:
    first = days.start()
    first.turn("say the zebra")
    first.quit()
    second = days.start()
    other = second.work / "other"
    other.mkdir()
    second.cmd(f"cd {other}")
    second.cmd("Acp chat")
    second.wait_screen("No session yet. :AcpPrompt starts one")
    assert not second.state()["sessions"]


def test_opening_an_empty_chat_starts_nothing(editor: Editor) -> None:
    assert "No session yet. :AcpPrompt starts one" in editor.cmd("Acp chat")
    assert editor.state()["host"] == "stopped"


def test_a_stored_question_includes_the_open_calls_it_showed(days: Days) -> None:
    first = days.start()
    first.turn("say hello")
    call = {"title": "terminal", "kind": "execute", "rawInput": {"command": "ls -la"}}
    agent = StepwiseAgent.at_work(first)
    agent.ask("announces", "a", json.dumps(call))
    picker_questions = {"title": "Confirm Agent Actions", "kind": "other"}
    agent.ask("asks_about", "confirmation", json.dumps(picker_questions))
    first.answer("Acp allow")
    agent.end()
    first.wait_event("AcpTurnEnd", 2)
    before = after_answer(first)
    assert before[:2] == ["Asked:", "May allow: run ls -la"]
    first.quit()

    second = days.start()
    pick(second, "Acp history ls -la", "say hello", "open")
    wait_chat(second, 1)
    second.wait("vim.api.nvim_buf_line_count(vim.fn.bufnr('acp://chat/1')) > 5")
    assert after_answer(second) == before
