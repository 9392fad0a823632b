"""Unsent drafts are restored in the next Neovim, however the last one ended."""

from __future__ import annotations

import os
import random
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.features.prompts.drafts_on_disk import SLOW_DISK, SharedWorkspace, composer, run, write
from tests.support.editor import Editor
from tests.support.killed_host import kill_host
from tests.support.lua import lua_call
from tests.support.stalled_agent import stalled_agent
from tests.support.waiting import until


@pytest.fixture
def shared(edit: Callable[..., Editor], tmp_path: Path) -> SharedWorkspace:
    return SharedWorkspace(edit, tmp_path)


# -- drafts


def end(editor: Editor, how: str) -> None:
    if how == "kill":
        editor.kill()
    else:
        editor.quit()


def check_silent_start(shared: SharedWorkspace) -> None:
    """Check that the next Neovim shows no message when it opens the composer."""
    editor = shared.start()
    editor.cmd("AcpPrompt")
    editor.wait("vim.fn.mode() == 'i'")
    assert editor.messages() == ""


@pytest.mark.parametrize("how", ["kill", "quit"])
def test_a_draft_comes_back(shared: SharedWorkspace, how: str) -> None:
    first = shared.start()
    write(first, "hello there<CR>and more")
    shared.wait("hello there\nand more")
    assert [stat.S_IMODE(path.stat().st_mode) for path in shared.files()] == [0o600]
    assert stat.S_IMODE(shared.directory.stat().st_mode) == 0o700
    end(first, how)
    second = shared.start()
    assert composer(second) == ["hello there", "and more"]
    assert second.lua("return vim.fn.line('.')") == 2
    shared.wait("hello there\nand more")
    assert len(shared.files()) == 1
    second.keys("<Esc>ggdG")
    until(lambda: shared.files() == [])
    second.quit()
    assert not shared.directory.exists()


def test_orderly_ends_keep_what_has_not_been_written_yet(shared: SharedWorkspace) -> None:
    first = shared.start()
    write(first, "in a hurry")
    first.quit()
    assert shared.drafts() == ["in a hurry"]


def test_a_prompt_of_a_command_that_ends_neovim_is_kept(shared: SharedWorkspace) -> None:
    first = shared.start()
    first.lua("vim.schedule(function() vim.cmd('AcpPrompt wait for me\\nqall!') end)")
    first.quit()
    shared.wait(queue=["wait for me"])


def test_a_line_says_that_it_is_back(shared: SharedWorkspace) -> None:
    first = shared.start()
    write(first, "hello")
    shared.wait("hello")
    first.kill()
    second = shared.start()
    for _ in range(2):
        second.cmd("AcpPrompt")
        second.wait_message("acp: Your draft is back in the composer")
    assert second.messages().count("draft is back") == 1


@pytest.mark.parametrize("command", ["Acp chat", "AcpPrompt say hi", "Acp queue"])
def test_other_commands_bring_it_back_as_well(shared: SharedWorkspace, command: str) -> None:
    first = shared.start()
    write(first, "hello")
    shared.wait("hello")
    first.kill()
    second = shared.start()
    run(second, command)
    second.wait_message("Your draft is back in the composer")
    assert second.lines("acp://composer/1") == ["hello"]


def test_nothing_is_read_at_start_and_no_timer_runs_when_nothing_changes(
    shared: SharedWorkspace,
) -> None:
    editor = shared.start()
    assert not editor.lua("return package.loaded['acp.features.prompts.drafts'] ~= nil")
    assert not shared.directory.exists()
    write(editor, "hello")
    shared.wait("hello")
    timers = lua_call(__file__, "count_timers")
    if editor.lua("return vim.fn.has('nvim-0.11') == 1"):  # 0.10 aborts in vim.uv.walk()
        editor.wait(f"{timers} == 0")


def test_attached_files_and_lines_come_back_and_go_along(shared: SharedWorkspace) -> None:
    first = shared.start()
    path = first.write("a.txt", "one\ntwo\nthree\n")
    other = first.write("b.txt", "other\n")
    first.open(path)
    first.cmd(f"Acp attach {other}")
    first.cmd("2,3AcpPrompt")
    first.keys("say ok<Esc>")
    shared.wait("say ok")
    until(
        lambda: (
            shared.entries()[0]["drafts"][0]["ranges"] and shared.entries()[0]["drafts"][0]["paths"]
        )
    )
    first.kill()
    path.write_text("changed\n")
    second = shared.start()
    assert composer(second) == ["say ok"]
    second.wait_screen("+ a.txt:2-3")
    second.wait_screen("+ b.txt")
    second.keys("<C-s>")
    second.wait_event("AcpTurnEnd")
    sent = second.traffic[0].received("session/prompt")[0]["params"]["prompt"]
    assert [block["resource"]["text"] for block in sent[1:]] == ["two\nthree", "other\n"]
    shared.wait()


def test_an_existing_text_is_never_overwritten(shared: SharedWorkspace) -> None:
    first = shared.start()
    write(first, "the draft")
    shared.wait("the draft")
    first.kill()
    second = shared.start()
    second.lua(
        "local c = require('acp.features.prompts.composer') c.return_prompt(1, 'already here')"
    )
    run(second, "AcpPrompt")
    assert second.lines("acp://composer/1") == ["already here"]
    second.wait_message("An earlier draft is among the composer's earlier prompts")
    second.keys("<Esc><C-p>")
    assert second.lines("acp://composer/1") == ["the draft"]
    second.keys("<C-n>")
    assert second.lines("acp://composer/1") == ["already here"]
    shared.wait("already here")
    second.kill()
    third = shared.start()
    assert composer(third) == ["already here"]
    third.keys("<Esc><C-p>")
    assert third.lines("acp://composer/1") == ["the draft"], "it outlives a second kill"


def test_a_draft_of_another_directory_stays_there(shared: SharedWorkspace, tmp_path: Path) -> None:
    first = shared.start()
    write(first, "hello")
    shared.wait("hello")
    first.kill()
    elsewhere = shared.start(work=tmp_path / "elsewhere")
    assert composer(elsewhere) == [""]
    assert shared.drafts() == ["hello"]
    elsewhere.cmd(f"cd {shared.work}")
    assert composer(elsewhere) == ["hello"]


def test_of_several_drafts_that_of_the_current_session_is_offered_first(
    shared: SharedWorkspace,
) -> None:
    first = shared.start()
    first.turn("say hi")
    write(first, "to one")
    first.cmd("Acp new")
    first.wait("require('acp').state().current == 2")
    write(first, "to two")
    until(lambda: sorted(shared.drafts()) == ["to one", "to two"])
    until(lambda: shared.entries()[0]["current"] == 2)
    first.kill()
    second = shared.start()
    assert composer(second) == ["to two"]
    second.keys("<Esc><C-p>")
    assert second.lines("acp://composer/1") == ["to one"]


@pytest.mark.parametrize("running", [False, True])
def test_comments_come_back_and_go_with_the_next_prompt(
    shared: SharedWorkspace, running: bool
) -> None:
    first = shared.start()
    path = first.write("a.txt", "one\ntwo\n")
    first.open(path)
    first.cmd("2")
    first.cmd("Acp comment why two?")
    until(lambda: [r.get("lines") for k in shared.entries() for r in k["remarks"]] == [["two"]])
    first.kill()
    path.write_text("changed\n")
    second = shared.start(agent="hello")
    if running:
        second.cmd(f"cd {shared.work.parent}")
        second.turn("say warm")
        second.cmd(f"cd {shared.work}")
    run(second, "AcpPrompt")
    second.wait_message("1 comment goes with your next prompt")
    second.cmd("wincmd p")
    second.open(path)
    second.wait_screen("» why two?")
    second.turn("say ok")
    sent = second.traffic[0].received("session/prompt")[-1]["params"]["prompt"]
    assert sent[0]["text"] == "say ok\n\nComments on your edits:\n- a.txt:2: why two?\n"
    assert sent[1]["resource"]["text"] == "two"
    until(lambda: shared.entries() == [])
    second.kill()
    check_silent_start(shared)


# -- two Neovims


def test_a_draft_of_a_running_neovim_is_left_alone(shared: SharedWorkspace) -> None:
    first, second = shared.start(), shared.start()
    write(first, "mine")
    shared.wait("mine")
    assert composer(second) == [""]
    write(second, "yours")
    until(lambda: sorted(shared.drafts()) == ["mine", "yours"])
    assert len(shared.files()) == 2
    first.kill()
    third = shared.start()
    assert composer(third) == ["mine"]
    assert second.lines("acp://composer/1") == ["yours"]


def test_one_of_two_starting_neovims_restores_a_draft(shared: SharedWorkspace) -> None:
    first = shared.start()
    write(first, "hello")
    shared.wait("hello")
    first.kill()
    others = [shared.start(), shared.start()]
    opening = [other.rpc.send("nvim_command", "AcpPrompt") for other in others]
    for other, request in zip(others, opening, strict=True):
        other.rpc.answer(request, 10)
    found = [other.lines("acp://composer/1") for other in others]
    assert sorted(found) == [[""], ["hello"]]
    shared.wait("hello")


def test_a_reused_process_id_is_not_a_running_neovim(
    shared: SharedWorkspace,
) -> None:
    first = shared.start()
    write(first, "hello")
    shared.wait("hello")
    first.kill()
    (path,) = shared.files()
    workspace, _, start, machine, _ = path.name.split(".")
    path.rename(path.with_name(f"{workspace}.{os.getpid()}.{start}.{machine}.json"))
    assert composer(shared.start()) == ["hello"]


# -- queued prompts


def busy(shared: SharedWorkspace) -> Editor:
    """Return a Neovim in a turn, with two queued prompts and a draft."""
    first = shared.start()
    first.prompt("wait_for_cancel")
    first.wait("(require('acp').state().sessions[1] or {}).status == 'running'")
    first.prompt("say one")
    first.prompt("say two")
    write(first, "a draft")
    shared.wait("a draft", queue=["say one", "say two"])
    return first


@pytest.mark.parametrize("how", ["kill", "quit"])
def test_prompts_that_waited_come_back_and_wait(shared: SharedWorkspace, how: str) -> None:
    end(busy(shared), how)
    second = shared.start()
    second.cmd("AcpPrompt")
    second.wait_message("acp: Your draft is back in the composer; 2 unsent prompts, see :Acp queue")
    assert second.lines("acp://composer/1") == ["a draft"]
    shared.wait("a draft", queue=["say one", "say two"])
    second.cmd("Acp queue")
    shown = second.lines("acp://queue/1")
    assert [shown[0], shown[2]] == ["say one", "say two"]
    second.wait("#(require('acp').state().sessions[1] or { queue = {} }).queue == 2")
    assert second.events("AcpTurnStart") == [], "nothing is sent by itself"
    second.cmd("Acp queue run")
    second.wait_event("AcpTurnEnd", 2)
    assert second.traffic[0].prompts() == ["say one", "say two"]
    shared.wait("a draft")


def test_prompts_that_repeat_a_sent_one_come_back(shared: SharedWorkspace) -> None:
    first = shared.start()
    first.prompt("wait_for_cancel")
    first.lua("for _ = 1, 2 do require('acp').prompt('wait_for_cancel') end")
    shared.wait(queue=["wait_for_cancel"] * 2)
    first.kill()
    composer(shared.start())
    shared.wait(queue=["wait_for_cancel"] * 2)


def test_they_can_be_edited_before_there_is_a_session(shared: SharedWorkspace) -> None:
    busy(shared).kill()
    second = shared.start()
    second.cmd("Acp queue")
    second.wait("vim.bo.filetype == 'acpqueue'")
    second.keys("ggA, changed<Esc>")
    second.cmd("write")
    shared.wait("a draft", queue=["say one, changed", "say two"])
    second.kill()
    third = shared.start()
    third.cmd("Acp queue")
    third.wait("vim.bo.filetype == 'acpqueue'")
    third.keys("ggdd")
    third.cmd("write")
    shared.wait("a draft", queue=["say two"])


@pytest.mark.parametrize("command", ["Acp queue clear", "AcpCancel!"])
def test_they_can_be_dropped(shared: SharedWorkspace, command: str) -> None:
    busy(shared).kill()
    second = shared.start()
    composer(second)
    assert second.cmd(command) == "acp: The queue is empty now"
    shared.wait("a draft")
    assert second.cmd("Acp queue") == "acp: The queue is empty"
    second.kill()
    third = shared.start()
    third.cmd("AcpPrompt")
    third.wait_message("acp: Your draft is back in the composer")


def test_a_new_prompt_passes_them_and_its_session_has_them(shared: SharedWorkspace) -> None:
    busy(shared).kill()
    second = shared.start()
    second.turn("say new")
    second.wait("#require('acp').state().sessions[1].queue == 2")
    assert second.session(1)["queue"] == ["say one", "say two"]
    assert second.traffic[0].prompts() == ["say new"]
    second.turn("say newer")
    assert second.traffic[0].prompts() == ["say new", "say newer"]
    shared.wait("a draft", queue=["say one", "say two"])
    second.cmd("Acp queue run")
    second.wait_event("AcpTurnEnd", 4)
    assert second.traffic[0].prompts()[2:] == ["say one", "say two"]
    shared.wait("a draft")


def test_they_outlive_one_neovim_after_the_other(shared: SharedWorkspace) -> None:
    busy(shared).kill()
    first = shared.start()
    first.lua("vim.uv.fs_unlink = function() return true end")  # it is killed before this ends
    assert composer(first) == ["a draft"]
    until(lambda: shared.queued() == ["say one", "say two"] * 2)
    first.kill()
    slow = shared.start()
    slow.lua(SLOW_DISK)
    assert composer(slow) == ["a draft"]
    slow.quit()
    for _ in range(2):
        editor = shared.start()
        assert composer(editor) == ["a draft"]
        shared.wait("a draft", queue=["say one", "say two"])
        assert len(shared.files()) == 1
        editor.kill()
    last = shared.start()
    last.turn("say new")
    last.wait("#require('acp').state().sessions[1].queue == 2")
    shared.wait("a draft", queue=["say one", "say two"])
    last.kill()
    assert composer(shared.start()) == ["a draft"]
    shared.wait("a draft", queue=["say one", "say two"])


def test_prompts_edited_in_the_queue_come_back(shared: SharedWorkspace) -> None:
    first = busy(shared)
    first.cmd("Acp queue")
    first.wait("vim.bo.filetype == 'acpqueue'")
    first.keys("ggA, changed<Esc>")
    first.cmd("write")
    shared.wait("a draft", queue=["say one, changed", "say two"])
    first.kill()
    second = shared.start()
    composer(second)
    shared.wait("a draft", queue=["say one, changed", "say two"])


def test_a_prompt_that_waits_for_its_agent_comes_back(shared: SharedWorkspace) -> None:
    first = shared.start()
    traffic = stalled_agent(first, "initialize")
    first.prompt("say hi")
    shared.wait(queue=["say hi"])
    traffic.wait("initialize")
    first.kill()
    second = shared.start()
    run(second, "AcpPrompt")
    second.wait_message("1 unsent prompt, see :Acp queue")
    shared.wait(queue=["say hi"])


# -- sent


def test_a_sent_prompt_does_not_come_back(shared: SharedWorkspace) -> None:
    first = shared.start()
    write(first, "wait_for_cancel")
    shared.wait("wait_for_cancel")
    first.keys("<C-s>")
    first.traffic[0].wait("session/prompt")
    first.kill()
    assert composer(shared.start()) == [""]


def test_one_that_comes_back_from_its_agent_is_a_draft_again(shared: SharedWorkspace) -> None:
    first = shared.start()
    write(first, "exit 3")
    shared.wait("exit 3")
    first.keys("<C-s>")
    first.wait_event("AcpAgentExit")
    shared.wait("exit 3")
    first.kill()
    assert composer(shared.start()) == ["exit 3"]


def noted(shared: SharedWorkspace, editor: Editor) -> Path:
    """Return a hard link to the file in which the host of an editor records sent prompts."""
    path = Path(editor.lua("return require('acp.features.prompts.draft_file').sent_path()"))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(0o600)
    kept = shared.work.parent / "noted"
    kept.hardlink_to(path)
    return kept


def outcome(shared: SharedWorkspace, seed: int) -> str:
    """Write a prompt, perhaps send it, kill Neovim, and return where the prompt is then."""
    draw = random.Random(seed)
    text = f"say prompt {seed}"
    first = shared.start()
    notes = noted(shared, first)
    if draw.random() < 0.7:
        first.turn("say warm")
    write(first, text)
    shared.wait(text)
    if draw.random() < 0.3:
        first.keys("A more<Esc>")
    if draw.random() < 0.9:
        first.rpc.notify("nvim_input", "<C-s>")
    end = time.monotonic() + draw.choice([0, 0.002, 0.01, 0.03, 0.1, 0.3]) * draw.random()
    while time.monotonic() < end:
        first.rpc.pump(0.001)
    first.kill()
    until(lambda: not first.processes())
    second = shared.start()
    back = "\n".join(composer(second)).startswith(text)
    held = second.lua("return require('acp.features.prompts.held_prompts').texts()")
    waits = any(one.startswith(text) for one in held)
    reached = any(one.startswith(text) for one in first.traffic[0].prompts())
    count = 2 if first.traffic[0].prompts()[:1] == ["say warm"] else 1
    sent = notes.read_text().count("+") == count
    assert not (back and waits), seed
    assert (back or waits) is not sent, (seed, notes.read_text(), back, waits)
    assert sent or not reached, seed
    second.quit()
    for path in shared.directory.glob("*"):
        path.unlink()
    return "sent" if sent else "back"


@pytest.mark.parametrize("seed", range(4))
def test_a_prompt_is_sent_or_comes_back_whenever_neovim_is_killed(
    shared: SharedWorkspace, seed: int
) -> None:
    assert outcome(shared, seed) in ("sent", "back")


def test_typing_continues_while_a_draft_is_written(shared: SharedWorkspace) -> None:
    first = shared.start()
    write(first, "")
    first.keys("i")
    begun = time.monotonic()
    typed = ""
    while not shared.drafts():
        assert time.monotonic() - begun < 10, "not written while the user types"
        first.keys("x")
        typed += "x"
    first.kill()
    (line,) = composer(shared.start())
    assert typed.startswith(line)
    assert line


# -- the host dies


def test_the_words_of_a_host_that_was_killed_are_kept_too(shared: SharedWorkspace) -> None:
    first = busy(shared)
    kill_host(first)
    shared.wait("wait_for_cancel\nsay one\nsay two\na draft")
    first.kill()
    assert composer(shared.start()) == ["wait_for_cancel", "say one", "say two", "a draft"]


# -- errors


def test_leftovers_of_a_killed_neovim_are_removed(shared: SharedWorkspace) -> None:
    first = shared.start()
    first.turn("say hi")
    write(first, "hello")
    shared.wait("hello")
    first.kill()
    (path,) = shared.files()
    torn = path.with_name(f"{path.name}.new")
    torn.write_text('{"version')
    (sent,) = shared.directory.glob("*.sent")
    second = shared.start()
    assert composer(second) == ["hello"]
    assert not torn.exists()
    second.keys("<Esc>ggdG")
    until(lambda: shared.files() == [])
    second.quit()
    third = shared.start()
    composer(third)
    assert not sent.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1, "drafts": [{"text": 3}]}'])
def test_a_damaged_file_is_named_once_and_stops_nothing(
    shared: SharedWorkspace, content: str
) -> None:
    first = shared.start()
    write(first, "hello")
    shared.wait("hello")
    first.kill()
    (path,) = shared.files()
    path.write_text(content)
    second = shared.start()
    run(second, "AcpPrompt")
    second.wait_message("a draft is damaged")
    assert second.lines("acp://composer/1") == [""]
    assert [p.read_text() for p in shared.directory.glob("*.damaged")] == [content]
    write(second, "say new")
    shared.wait("say new")
    second.keys("<C-s>")
    second.wait_event("AcpTurnEnd")
    second.quit()
    check_silent_start(shared)


def test_one_line_says_that_nothing_can_be_written(shared: SharedWorkspace) -> None:
    shared.directory.parent.mkdir(parents=True)
    shared.directory.write_text("no directory")
    editor = shared.start()
    write(editor, "say hello")
    editor.wait_message("Drafts are not being saved")
    written = shared.directory.parent / "written"
    other = {"path": str(written), "text": "two", "text_if_complete": "two, replaces"}
    jobs = [{"path": str(shared.directory / "not"), "text": "one"}, other]
    editor.lua("require('acp.features.prompts.draft_file').run(...)", jobs)
    assert written.read_text() == "two", "it replaces no file whose texts were not written"
    editor.keys("A, again<Esc>")
    editor.keys("<C-s>")
    editor.wait_event("AcpTurnEnd")
    assert editor.traffic[0].prompts() == ["say hello, again"]
    write(editor, "more")
    editor.quit()


def test_drafts_that_are_too_old_are_removed_with_the_next_one(shared: SharedWorkspace) -> None:
    first = shared.start()
    write(first, "old")
    shared.wait("old")
    first.kill()
    (path,) = shared.files()
    sent = shared.directory / f"{path.name.partition('.')[2].removesuffix('.json')}.sent"
    sent.write_text("+9\n")
    for one in (path, sent):
        os.utime(one, (time.time() - 91 * 86400,) * 2)
    second = shared.start()
    assert composer(second) == [""]
    until(lambda: not path.exists())
    third = shared.start()
    composer(third)
    until(lambda: not sent.exists())
