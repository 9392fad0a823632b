"""`:Acp rewind` in a later Neovim: it lists earlier prompts with their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.features.history.verbs import unique_labels
from acp_nvim.history.search import StoredSession
from tests.support.checkpoints import FIRST, contents
from tests.support.days import Days
from tests.support.editor import Editor
from tests.support.fake_picker import pick, picker_questions
from tests.support.killed_host import is_written, kill_host_once_written
from tests.support.prompt_texts import transcript_in, words
from tests.support.script_lines import shell
from tests.support.stored_sessions import ALL
from tests.support.waiting import until

BOTH = "one\nTWO\nTHREE\n"
FIRST_ONLY = "one\nTWO\nthree\n"
FORKS: dict[str, Any] = {**ALL, "_meta": {"claudeCode": {"rewind": True}}}


@pytest.fixture
def days(edit: Callable[..., Editor], tmp_path: Path) -> Days:
    return Days(edit, tmp_path)


def edit_line(editor: Editor, word: str, message: str) -> None:
    """Run a turn that changes a line and sends a message."""
    command = shell(f"sed -i 's/{word}/{word.upper()}/' a.txt")
    editor.turn(f"{command}\nsay {message}")


def first_day(days: Days, **agent: Any) -> Editor:
    """Run two turns that each change a line and send a message."""
    editor = days.start(**agent)
    editor.write("a.txt", FIRST)
    edit_line(editor, "two", "the second line")
    edit_line(editor, "three", "the third line")
    editor.wait("require('acp').state().sessions[1].edits[1].added == 2")
    assert contents(editor)["a.txt"] == BOTH
    return editor


def current(editor: Editor) -> int:
    n: int = editor.wait("(require('acp').state().current)")
    return n


def wait_idle(editor: Editor, n: int) -> None:
    editor.wait("(require('acp').state().sessions[...] or {}).status == 'idle'", n)


def offered(question: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return the numbers of the listed prompts, and whether they are those of the first day."""
    lines = ("the third line", "the second line")
    return [
        (item.split()[1].strip(":"), line in item)
        for item, line in zip(question["items"], lines, strict=False)
    ]


def test_prompts_from_before_a_kill_are_listed_without_a_session(days: Days) -> None:
    first = first_day(days)
    until(lambda: is_written(first))
    until(lambda: days.messages()[-1:] == ["the third line"])
    first.kill()

    second = days.start()
    second.write("mine.txt", "written meanwhile\n")
    (question,) = pick(second, "Acp rewind", "nothing")
    assert offered(question) == [("2", True), ("1", True)]
    assert contents(second)["a.txt"] == BOTH, "nothing was chosen"
    pick(second, "Acp rewind", question["items"][0])
    second.wait_message("Files restored to before prompt 2: 1 file changed")
    assert contents(second) == {"a.txt": FIRST_ONLY, "mine.txt": "written meanwhile\n"}
    n = current(second)
    wait_idle(second, n)
    chat = "\n".join(second.chat(n))
    assert "the second line" in chat
    assert "the third line" not in chat
    composer = second.lua("return require('acp').state().sessions[...].composer_bufnr", n)
    lines = second.lua("return vim.api.nvim_buf_get_lines(..., 0, -1, true)", composer)
    assert "say the third line" in lines
    second.turn("say again")
    prompt = second.traffic[0].received("session/prompt")[-1]
    assert words(prompt) == ["say again"]
    assert "the second line" in transcript_in(prompt)
    assert "the third line" not in transcript_in(prompt)

    second.cmd("Acp restore")
    second.wait_message("The restore was undone")
    second.wait("require('acp').state().current ~= ...", n)
    assert contents(second)["a.txt"] == BOTH
    assert "the third line" in "\n".join(second.chat(current(second)))


@pytest.mark.parametrize("action", ["load", "resume", "continue", "open"])
def test_a_reopened_session_knows_its_prompts(days: Days, action: str) -> None:
    first_day(days, capabilities=ALL).quit()
    second = days.start(capabilities=ALL)
    list_of = "Acp history" if action in ("continue", "open") else "Acp sessions"
    title = pick(second, list_of, "nothing")[0]["items"][0].split("  (")[0]
    pick(second, list_of, title, action)
    n = current(second) if action != "open" else 0
    if action == "open":
        second.wait_screen("the third line")
    else:
        wait_idle(second, n)
        edit_line(second, "one", "the first line")
        assert contents(second)["a.txt"] == "ONE\nTWO\nTHREE\n"
    before = len(picker_questions(second))
    (question,) = pick(second, "Acp rewind", "nothing")
    assert len(picker_questions(second)) == before + 1
    if action != "open":
        assert question["items"].pop(0).split()[1] == "3:"
    assert offered(question) == [("2", True), ("1", True)]
    old = current(second)
    second.cmd("Acp rewind 2")
    second.wait_message("Files restored to before prompt 2: 1 file changed")
    assert contents(second)["a.txt"] == FIRST_ONLY
    second.wait("require('acp').state().current ~= ...", old)
    n = current(second)
    wait_idle(second, n)
    second.turn("say again")
    prompt = second.traffic[0].received("session/prompt")[-1]
    assert "the second line" in transcript_in(prompt)
    assert "the third line" not in transcript_in(prompt)
    second.cmd("Acp restore")
    second.wait_message("The restore was undone")
    second.wait("require('acp').state().current == ...", old)
    assert contents(second)["a.txt"] == (BOTH if action == "open" else "ONE\nTWO\nTHREE\n")


def test_a_session_can_be_forked_at_an_earlier_message(days: Days) -> None:
    first = days.start(capabilities=FORKS)
    first.turn("messages")
    first.turn("say the end")
    first.quit()
    second = days.start(capabilities=FORKS)
    title = pick(second, "Acp history", "nothing")[0]["items"][0].split("  (")[0]
    pick(second, "Acp history", title, "open")
    second.wait_screen("the end")
    old = current(second)
    second.cmd("Acp rewind 2")
    second.wait("require('acp').state().current ~= ...", old)
    n = current(second)
    wait_idle(second, n)
    fork = second.traffic[0].wait("session/fork")
    assert (fork["params"]["sessionId"], fork["params"]["_meta"]) == (
        "s1",
        {"claudeCode": {"rewindTo": "m2"}},
    )
    assert "second message" in "\n".join(second.chat(n))
    assert "the end" not in "\n".join(second.chat(n))
    second.turn("say again")
    pick(second, "Acp history", "nothing")
    labels = picker_questions(second)[-1]["items"]
    assert len(labels) == 2
    assert all("  started 20" in label for label in labels)


def test_no_two_sessions_have_equal_labels() -> None:
    starts = (10.0, 10.2, 12.0)
    sessions = [
        StoredSession(n, str(n), None, "a", "", "/", "hi", started, updated=12.0)
        for n, started in enumerate(starts)
    ]
    labels = unique_labels(sessions, "/")
    assert len({*labels}) == 3
    assert [label.rpartition("  ")[2] for label in labels[:2]] == ["#0", "#1"]
    assert "#" not in labels[2]


def test_prompts_are_known_after_the_host_was_killed(days: Days) -> None:
    editor = first_day(days)
    until(lambda: days.messages()[-1:] == ["the third line"])
    kill_host_once_written(editor)
    (question,) = pick(editor, "Acp rewind", "nothing")
    assert offered(question) == [("2", True), ("1", True)]
    pick(editor, "Acp rewind", question["items"][1])
    editor.wait("require('acp').state().current == 2")
    assert contents(editor)["a.txt"] == FIRST


def test_files_are_restored_without_a_history(days: Days) -> None:
    first = days.start()
    first.setup({"history": {"enabled": False}})
    first.write("a.txt", FIRST)
    edit_line(first, "two", "the second line")
    until(lambda: is_written(first))
    first.kill()
    second = days.start()
    second.cmd("Acp rewind")
    second.wait_message("The conversation is not in the history")
    second.cmd("Acp restore 1")
    second.wait_message("Files restored to before prompt 1: 1 file changed")
    assert contents(second)["a.txt"] == FIRST
