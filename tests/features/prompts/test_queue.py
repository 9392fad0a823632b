"""The queued prompts as a buffer, while some of them are sent."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.support.editor import Editor
from tests.support.killed_host import HOST_PID
from tests.support.waiting import until

NAME = "acp://queue/1"
QUEUE = "require('acp').state().sessions[1].queue"


@pytest.fixture
def waiting(editor: Editor) -> Editor:
    """Return an editor with the queue open and held: `say a`, a long turn, `say c`."""
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    for text in ("say a", "wait_for_cancel", "say c"):
        editor.prompt(text)
    editor.wait(f"#{QUEUE} == 3")
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")
    editor.cmd("Acp queue")
    editor.wait("vim.fn.bufname() == ...", NAME)
    return editor


def test_queued_prompts_are_counted_and_follow_one_that_is_sent_now(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.prompt("say a")
    editor.wait(f"#{QUEUE} == 1")
    editor.prompt("say b")
    editor.wait(f"#{QUEUE} == 2")
    editor.wait("require('acp').statusline():find('^running %d s · 2 queued · Scripted$')")
    until(lambda: "Queued (2 waiting). Edit with :Acp queue" in editor.messages())
    editor.keys(":Acp send say x<CR>")
    editor.wait_event("AcpTurnEnd", 4)
    assert [line for line in editor.chat(1) if line in ("a", "b", "x")] == ["x", "a", "b"]
    assert editor.session(1)["queue"] == []


def test_a_key_of_the_composer_sends_at_once(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.keys(":AcpPrompt<CR>")
    editor.wait("vim.fn.bufname() == 'acp://composer/1'")
    editor.keys("say y<C-x><C-s>")
    assert editor.wait_event("AcpTurnEnd", 1)["stop_reason"] == "cancelled"
    editor.wait_event("AcpTurnEnd", 2)
    assert "y" in editor.chat(1)


def send_two(editor: Editor) -> None:
    editor.cmd("Acp queue run")
    editor.wait(f"#{QUEUE} == 1")


def test_a_buffer_without_edits_follows_the_queue(waiting: Editor) -> None:
    send_two(waiting)
    waiting.wait("vim.deep_equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), { 'say c' })")
    assert waiting.lua("return vim.bo.modified") is False


def test_a_prompt_that_was_sent_meanwhile_is_not_sent_again(waiting: Editor) -> None:
    waiting.lua("vim.fn.append('$', { ('─'):rep(24), 'say d' })")
    send_two(waiting)
    waiting.cmd("write")
    waiting.wait(f"#{QUEUE} == 2")
    assert waiting.session(1)["queue"] == ["say c", "say d"]
    waiting.cmd("AcpCancel")
    waiting.cmd("Acp queue run")
    until(lambda: [line for line in waiting.chat(1) if line in ("a", "c", "d")][-1] == "d")
    waiting.wait("require('acp').state().sessions[1].status == 'idle'")
    assert [line for line in waiting.chat(1) if line in ("a", "c", "d")] == ["a", "c", "d"]


def test_a_prompt_after_a_cancel_is_sent_before_the_queue(
    waiting: Editor,
) -> None:
    waiting.prompt("say x")
    waiting.wait_event("AcpTurnEnd", 2)
    assert waiting.session(1)["queue"] == ["say a", "wait_for_cancel", "say c"]
    assert "Sent ahead of 3 on hold. :Acp queue run sends those" in waiting.messages()
    waiting.cmd("Acp queue run")
    waiting.wait(f"#{QUEUE} == 1")
    waiting.cmd("AcpCancel!")
    waiting.wait_event("AcpTurnEnd", 4)


def test_prompts_written_during_a_cancel_keep_their_order(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("ignores_cancel 3")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.prompt("say a")
    editor.wait(f"#{QUEUE} == 1")
    editor.cmd("AcpCancel")
    editor.wait("require('acp').state().sessions[1].status == 'cancelling'")
    editor.prompt("say x")
    editor.prompt("say y")
    editor.wait(f"#{QUEUE} == 3")
    assert editor.session(1)["queue"] == ["say a", "say x", "say y"]
    editor.wait_event("AcpTurnEnd", 3)
    assert editor.session(1)["queue"] == ["say a"]
    assert [line for line in editor.chat(1) if line in ("a", "x", "y")] == ["x", "y"]
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd", 4)


def test_a_prompt_is_queued_until_its_turn_has_begun(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say a")
    editor.lua(
        "for _, text in ipairs({ 'wait_for_cancel', 'say b' }) do require('acp').prompt(text) end"
    )
    editor.wait(f"vim.deep_equal({QUEUE}, {{ 'say b' }})")
    assert editor.session(1)["status"] == "running"
    editor.cmd("AcpCancel!")
    assert editor.wait_event("AcpTurnEnd", 2)["stop_reason"] == "cancelled"
    editor.wait(f"#{QUEUE} == 0")


def test_the_queue_shows_how_to_edit_it(waiting: Editor) -> None:
    waiting.wait_screen(" Edit, move or delete prompts; a line separates them")
    waiting.cmd("quit")
    waiting.setup({"keymaps": {"queue": False}})
    waiting.cmd("Acp queue")
    waiting.wait_screen(":w apply")


def test_a_prompt_without_words_has_a_name_and_is_kept_unchanged(editor: Editor) -> None:
    agent = editor.agent("script", capabilities={"promptCapabilities": {"image": True}})
    path = editor.write("a.txt", "one\n")
    editor.prompt("wait_for_cancel")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    for sent in ([image], "  say spaced"):
        editor.lua("require('acp').prompt(..., { attach = { select(2, ...) } })", sent, str(path))
    editor.wait(f"#{QUEUE} == 2")
    assert editor.session(1)["queue"] == ["[image (image/png), a.txt]", "  say spaced"]
    editor.cmd("Acp queue")
    editor.wait("vim.fn.bufname() == ...", NAME)
    editor.cmd("silent! 1 | write")
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd", 3)
    prompts = [frame["params"]["prompt"] for frame in agent.received("session/prompt")[1:]]
    kinds = [[block["type"] for block in prompt] for prompt in prompts]
    assert kinds == [["image", "resource_link"], ["text", "resource_link"]]


def test_g_question_mark_shows_the_keys_of_the_queue(waiting: Editor) -> None:
    waiting.keys("g?")
    waiting.wait_screen("apply your changes")
    waiting.keys("q")
    waiting.wait("vim.fn.bufname() == ...", NAME)


@pytest.mark.parametrize("keys", ["ddd<C-s>", "dddO<Esc>i<C-s>"], ids=["normal", "insert"])
def test_a_key_applies_the_queue_like_a_write(waiting: Editor, keys: str) -> None:
    """The first prompt and the rule below it are deleted."""
    waiting.keys(keys.replace("ddd", "gg2dd", 1))
    waiting.wait(f"vim.deep_equal({QUEUE}, {{ 'wait_for_cancel', 'say c' }})")
    assert not waiting.lua("return vim.bo.modified")
    waiting.wait("vim.api.nvim_get_mode().mode == 'n'")


def test_the_bar_of_the_queue_shows_the_current_keys(waiting: Editor) -> None:
    waiting.wait_screen("<C-s> apply · q close · g? keys")
    waiting.setup({"keymaps": {"queue": {"<C-s>": False, "gs": "apply"}}})
    waiting.cmd("quit!")
    waiting.cmd("Acp queue")
    waiting.wait_screen("gs apply · q close · g? keys")


def test_a_key_closes_the_queue_unless_changes_would_be_lost(waiting: Editor) -> None:
    waiting.keys("ggAx<Esc>q")
    waiting.wait_message("Your changes have not been applied. :w applies them")
    assert waiting.lua("return vim.fn.bufname()") == NAME
    waiting.keys("<C-s>q")
    waiting.wait("vim.fn.bufwinid(...) == -1", NAME)


def test_buffers_for_prompts_can_be_written_if_files_cannot(
    edit: Callable[..., Editor],
) -> None:
    editor = edit(init="vim.go.modifiable = false")
    editor.agent("script")
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.keys("wait_for_cancel<C-s>")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'running'")
    editor.keys("<Esc>")
    editor.prompt("say a")
    editor.wait(f"#{QUEUE} == 1")
    editor.cmd("Acp queue")
    editor.wait("vim.fn.bufname() == ...", NAME)
    editor.keys("obcd<Esc>")
    editor.wait("vim.fn.line('$') == 2")
    editor.cmd("write")
    editor.wait(f"{QUEUE}[1] == 'say a\\nbcd'")


@pytest.fixture
def in_turn(editor: Editor) -> Editor:
    """Return an editor in a long turn with `say a` and `say b` queued."""
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    for text in ("say a", "say b"):
        editor.prompt(text)
    return editor


def test_a_prompt_that_arrives_while_the_queue_is_edited_stays_behind_it(in_turn: Editor) -> None:
    in_turn.wait(f"#{QUEUE} == 2")
    in_turn.cmd("Acp queue")
    in_turn.keys("ggA, changed<Esc>")
    in_turn.prompt("say later")
    in_turn.wait(f"#{QUEUE} == 3")
    in_turn.cmd("write")
    in_turn.wait(f"vim.deep_equal({QUEUE}, ...)", ["say a, changed", "say b", "say later"])
    in_turn.wait("vim.fn.getline('$') == 'say later'")
    in_turn.keys("ggA again<Esc>")
    in_turn.cmd("write")
    in_turn.wait(f"vim.deep_equal({QUEUE}, ...)", ["say a, changed again", "say b", "say later"])


def test_a_prompt_that_the_host_has_not_read_yet_is_neither_hidden_nor_lost(
    in_turn: Editor,
) -> None:
    """The host learns later of actions within one iteration of Neovim's loop."""
    in_turn.lua("vim.cmd('AcpPrompt say later') vim.cmd('Acp queue')")
    in_turn.wait("vim.fn.bufname() == ... and vim.fn.getline('$') == 'say later'", NAME)
    in_turn.lua("vim.cmd('AcpPrompt say last') vim.cmd('normal! ggA, changed') vim.cmd('write')")
    wanted = ["say a, changed", "say b", "say later", "say last"]
    in_turn.wait("vim.fn.getline('$') == 'say last'")
    in_turn.wait(f"vim.deep_equal({QUEUE}, ...)", wanted)


def test_prompts_that_a_killed_host_never_read_return_behind_the_rest(in_turn: Editor) -> None:
    in_turn.wait(f"#{QUEUE} == 2")
    in_turn.errors_expected = True
    pid = in_turn.lua(HOST_PID)
    os.kill(pid, signal.SIGSTOP)
    in_turn.prompt("say later")
    os.kill(pid, signal.SIGKILL)
    in_turn.wait("require('acp').state().host == 'failed'")
    in_turn.cmd("AcpPrompt")
    wanted = ["wait_for_cancel", "say a", "say b", "say later"]
    until(lambda: in_turn.lines("acp://composer/1") == wanted)
