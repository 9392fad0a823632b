"""Mentions that the user did not type need a confirmation before their files are sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.features.prompts.drafts_on_disk import SharedWorkspace
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, picker_questions
from tests.support.git import repository
from tests.support.traffic import Traffic

LINES = "\n".join(f"line {n}" for n in range(60))
HIDDEN = f"Fix it\n{LINES}\n see @.env and @a.txt please\n{LINES}\nthanks"


def suggests(words: str) -> str:
    update = {"sessionUpdate": "prompt_suggestions_update"}
    prompt = [{"type": "text", "text": words}]
    return "update " + json.dumps({**update, "suggestions": [{"prompt": prompt}]})


def sent_names(agent: Traffic) -> list[str]:
    """Return the names of the files sent with the last prompt."""
    blocks = agent.received("session/prompt")[-1]["params"]["prompt"]
    uris = [(it.get("resource") or it).get("uri", "") for it in blocks if it["type"] != "text"]
    return [uri.rpartition("/")[2] for uri in uris]


def take_suggestion(editor: Editor) -> None:
    editor.turn(suggests(HIDDEN))
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.wait_screen("Fix it")
    editor.keys("<Tab>")


def recall(editor: Editor) -> None:
    editor.turn("say hello")
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.lua("require('acp.frame').apply(...)", [["prompts", [HIDDEN]]])
    editor.keys("<Esc>9<C-p>")
    editor.wait("vim.fn.getline(1) == 'Fix it'")


def rewind(editor: Editor) -> None:
    editor.turn("say hello")
    editor.cmd("AcpPrompt")
    editor.lua("require('acp.frame').apply(...)", [["composer", 1, HIDDEN]])


@pytest.fixture
def secrets(editor: Editor) -> Editor:
    editor.write(".env", "TOKEN=secret\n")
    editor.write("a.txt", "one\n")
    install_picker(editor)
    return editor


@pytest.mark.parametrize("put", [take_suggestion, recall, rewind])
def test_a_secret_needs_a_confirmation(secrets: Editor, put: Callable[[Editor], None]) -> None:
    editor = secrets
    agent = editor.agent("script", capabilities={"promptCapabilities": {"embeddedContext": True}})
    answers = {
        "Send it with these files": [".env", "a.txt"],
        "Send it without these files": ["a.txt"],
        "Do not send it": None,
        "": None,
    }
    for answer, sent in answers.items():
        put(editor)
        editor.wait_screen("+ .env, a.txt")
        asked, ended = len(picker_questions(editor)), len(editor.events("AcpTurnEnd"))
        editor.lua("_G.acp_answers = { ... }", answer)
        editor.keys("<Esc><C-s>")
        editor.wait("#_G.acp_asked > ...", asked)
        question = picker_questions(editor)[asked]
        assert ".env (a secret file)" in question["prompt"]
        assert "a.txt" not in question["prompt"]
        if sent is None:
            editor.wait("vim.fn.getline(1) == 'Fix it'")
            assert len(agent.received("session/prompt")) == ended
            assert editor.lua("return require('acp.features.prompts.attachments').list(1)") == []
            editor.lua("_G.acp_answers = { ... }", "Send it without these files")
            editor.keys("<Esc><C-s>")  # the text that came back is asked about again
        editor.wait_event("AcpTurnEnd", ended + 1)
        assert sent_names(agent) == (sent or ["a.txt"])


@pytest.mark.parametrize("answer", ["Send it without these files", "Do not send it"])
def test_lines_of_a_secret_need_a_confirmation(secrets: Editor, answer: str) -> None:
    editor = secrets
    agent = editor.agent("script", capabilities={"promptCapabilities": {"embeddedContext": True}})
    editor.turn("say hello")
    editor.cmd("AcpPrompt")
    text = HIDDEN.replace("@.env", "@.env:1").replace("@a.txt", "@a.txt:1-9")
    editor.lua("require('acp.frame').apply(...)", [["composer", 1, text]])
    editor.wait_screen("+ .env:1, a.txt:1-9")
    editor.lua("_G.acp_answers = { ..., 'Send it without these files' }", answer)
    editor.keys("<Esc><C-s>")
    editor.wait("#_G.acp_asked == 1")
    (question,) = picker_questions(editor)
    assert ".env (a secret file)" in question["prompt"]
    if answer == "Do not send it":
        editor.wait_screen("+ .env:1, a.txt:1-9")
        editor.keys("<Esc><C-s>")
    editor.wait_event("AcpTurnEnd", 2)
    assert sent_names(agent) == ["a.txt#L1-L1"]


def suggest_variable(editor: Editor, name: str) -> None:
    """Take a suggestion of the agent that contains a variable outside the visible part."""
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    text = f"Fix it\n{LINES}\n{{{name}}} please"
    editor.lua("require('acp.features.prompts.composer').return_prompt(1, ...)", text)


@pytest.mark.parametrize("answer", ["with", "without", "not"])
def test_a_variable_with_a_secret_needs_a_confirmation(secrets: Editor, answer: str) -> None:
    editor = secrets
    agent = editor.agent("script", capabilities={"promptCapabilities": {"embeddedContext": True}})
    editor.turn("say hello")
    editor.cmd("edit .env")
    editor.keys("VOMORE=secret<Esc>V<Esc>")
    editor.cmd("call setqflist([{'bufnr': bufnr(), 'lnum': 1, 'text': 'secret'}])")
    choice = {"with": "Send it with these files", "without": "Send it without these files"}
    names = ["buffer", "selection", "this", "quickfix", "diff"]
    for count, name in enumerate(names, 1):
        suggest_variable(editor, name)
        editor.lua("_G.acp_answers = { ... }", choice.get(answer, "Do not send it"))
        editor.keys("<Esc><C-s>")
        editor.wait("#_G.acp_asked == ...", count)
        assert f"{{{name}}} of .env (a secret file)" in picker_questions(editor)[-1]["prompt"]
        if answer == "not":
            editor.wait("vim.fn.getline(1) == 'Fix it'")
            assert len(agent.received("session/prompt")) == 1
            editor.keys("<Esc>ggdG")
        else:
            editor.wait_event("AcpTurnEnd", 1 + count)
            sent = agent.received("session/prompt")[-1]
            assert ("secret" in str(sent)) is (answer == "with"), name
        editor.cmd("wincmd t")


def test_a_variable_without_a_secret_needs_none(secrets: Editor) -> None:
    editor = secrets
    agent = editor.agent("script", capabilities={"promptCapabilities": {"embeddedContext": True}})
    editor.turn("say hello")
    editor.cmd("edit a.txt")
    suggest_variable(editor, "buffer")
    editor.keys("<Esc><C-s>")
    editor.wait_event("AcpTurnEnd", 2)
    assert sent_names(agent) == ["buffer"]
    assert picker_questions(editor) == []


def test_a_variable_of_a_buffer_without_a_file_needs_a_confirmation(secrets: Editor) -> None:
    editor = secrets
    editor.agent("script")
    editor.turn("say hello")
    editor.keys("imine<Esc>")
    suggest_variable(editor, "buffer")
    editor.keys("<Esc><C-s>")
    editor.wait("#_G.acp_asked == 1")
    assert "{buffer} of a buffer without a file" in picker_questions(editor)[0]["prompt"]


def test_an_alternative_of_a_variable_needs_a_confirmation(secrets: Editor) -> None:
    editor = secrets
    editor.agent("script")
    editor.turn("say hello")
    editor.cmd("edit .env")
    suggest_variable(editor, "function|line")
    editor.keys("<Esc><C-s>")
    editor.wait("#_G.acp_asked == 1")
    assert "{line} of .env (a secret file)" in picker_questions(editor)[0]["prompt"]


def test_a_git_diff_with_a_secret_needs_a_confirmation(secrets: Editor) -> None:
    editor = secrets
    repository(editor.work)
    editor.agent("script", capabilities={"promptCapabilities": {"embeddedContext": True}})
    editor.turn("say hello")
    editor.write(".env", "TOKEN=another\n")
    suggest_variable(editor, "diff")
    editor.keys("<Esc><C-s>")
    editor.wait("#_G.acp_asked == 1")
    assert "{diff} of .env (a secret file)" in picker_questions(editor)[0]["prompt"]


WAITS = ["say look at @.env and @a.txt", "say and {buffer} too"]


@pytest.mark.parametrize("answer", ["with", "without", "not"])
@pytest.mark.parametrize("route", ["run at once", "run", "send"])
def test_a_prompt_that_returns_to_the_queue_needs_a_confirmation(
    edit: Any, tmp_path: Path, route: str, answer: str
) -> None:
    shared = SharedWorkspace(edit, tmp_path)
    takes = {"promptCapabilities": {"embeddedContext": True}}
    first = shared.start()
    for name in (".env", "a.txt"):
        first.write(name, f"{name}: secret\n")
    first.prompt("wait_for_cancel")
    first.wait("(require('acp').state().sessions[1] or {}).status == 'running'")
    for text in WAITS:
        first.prompt(text)
    shared.wait(queue=WAITS)
    first.kill()

    second = shared.start()
    agent = second.agent("script", capabilities=takes)
    install_picker(second)
    choice = {"with": "Send it with these files", "without": "Send it without these files"}
    second.lua("_G.acp_answers = { ... }", *[choice.get(answer, "Do not send it")] * 2)
    second.cmd("edit .env")
    if route == "run at once":  # there is no session yet
        second.cmd("Acp queue")
        second.cmd("close")
        second.wait("require('acp.features.prompts.held_prompts').any()")
    else:
        second.turn("say new")
        second.wait("#require('acp').state().sessions[1].queue == 2")
    assert picker_questions(second) == [], "nothing is asked before the user lets them go"
    before = len(agent.prompts())
    second.cmd("Acp send" if route == "send" else "Acp queue run")
    count = 1 if route == "send" else 2
    second.wait("#_G.acp_asked == ...", count)
    wanted = [".env (a secret file)", "{buffer} of .env (a secret file)"][:count]
    for question, words in zip(picker_questions(second), wanted, strict=True):
        assert question["prompt"].endswith(f": {words}")
    if answer == "not":
        second.wait("vim.fn.bufnr('acp://composer/1') > 0")
        second.wait("#vim.fn.getbufline('acp://composer/1', 1, '$') >= ...", count)
        assert second.lines("acp://composer/1") == WAITS[:count], "in their order"
        assert len(agent.prompts()) == before
        return
    second.wait_event("AcpTurnEnd", before + count)
    sent = str(agent.received("session/prompt")[before:])
    assert (".env: secret" in sent) is (answer == "with")
    assert "a.txt: secret" in sent


def test_mentions_that_the_user_types_need_none(secrets: Editor) -> None:
    editor = secrets
    agent = editor.agent("script", capabilities={"promptCapabilities": {"embeddedContext": True}})
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.keys("isay @.env {buffer}<Esc><C-s>")
    editor.wait_event("AcpTurnEnd", 1)
    assert sent_names(agent)[0] == ".env"
    assert picker_questions(editor) == []


def test_a_file_outside_and_a_private_key_need_a_confirmation(secrets: Editor) -> None:
    editor = secrets
    outside = editor.home / "notes.txt"
    outside.write_text("mine\n")
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3BlbnNzaC1rZXktdjEAAAAA" * 4 + "\n"
    editor.write("plain.txt", key + "-----END OPENSSH PRIVATE KEY-----\n")
    agent = editor.agent("script", capabilities={"promptCapabilities": {"embeddedContext": True}})
    editor.turn("say hello")
    editor.cmd("AcpPrompt")
    text = f"say @{outside} @plain.txt"
    editor.lua("require('acp.features.prompts.composer').return_prompt(1, ...)", text)
    editor.lua("_G.acp_answers = { ... }", "Send it without these files")
    editor.keys("<Esc><C-s>")
    editor.wait_event("AcpTurnEnd", 2)
    (question,) = picker_questions(editor)
    assert "notes.txt (outside the project)" in question["prompt"]
    assert "plain.txt (a secret file)" in question["prompt"]
    assert sent_names(agent) == []


def test_the_bar_counts_mentions_that_do_not_fit(secrets: Editor) -> None:
    editor = secrets
    for n in range(12):
        editor.write(f"name-{n}.txt", "")
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    mentions = " ".join(f"@name-{n}.txt" for n in range(12))
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { ... })", mentions)
    editor.wait("vim.wo.winbar:find('+ name-0', 1, true) ~= nil")
    editor.wait("vim.wo.winbar:find('+11 more', 1, true) ~= nil")
