"""Prompt library: `:Acp ask`, option `prompts`, and the prompts of a project."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.rpc import EditorError
from tests.support.traffic import Traffic

MISTAKES = lua_chunk(__file__, "prompt_mistakes")
FUNCTIONS = lua_chunk(__file__, "add_prompt_functions")
PREVIEWS = lua_chunk(__file__, "note_previews")
QUESTIONS = "#(require('acp').state().sessions[1] or {}).questions"
SHOULD = "Option 'prompts' should be a table in which 'a' is"
DEFAULTS = ["commit", "conflicts", "docs", "explain", "fix", "review", "tests"]


def blocks(agent: Traffic, count: int = 1) -> list[dict[str, Any]]:
    """Return the content blocks of the last of `count` prompts."""
    found: list[dict[str, Any]] = agent.wait("session/prompt", count)["params"]["prompt"]
    return found


def texts(agent: Traffic, count: int = 1) -> str:
    """Return the texts of the last of `count` prompts, those of resources included."""
    found = blocks(agent, count)
    return "\n".join(b.get("text") or (b.get("resource") or {}).get("text", "") for b in found)


def embedding(editor: Editor) -> Traffic:
    capabilities = {"promptCapabilities": {"embeddedContext": True}}
    return editor.agent("hello", capabilities=capabilities)


def test_a_default_prompt_goes_with_the_selected_lines(editor: Editor) -> None:
    agent = embedding(editor)
    editor.open(editor.write("a.py", "one\ntwo\nthree\nfour\n"))
    editor.keys("2GVj:Acp ask explain<CR>")
    found = blocks(agent)
    assert found[0]["text"].startswith("Explain this code")
    assert "{function" not in found[0]["text"]
    assert [b["resource"]["text"] for b in found if b["type"] == "resource"] == ["two\nthree"]
    editor.wait_event("AcpTurnEnd")
    editor.keys("<Esc>:Acp ask explain<CR>")
    assert "{function|buffer}" in blocks(agent, 2)[0]["text"]
    assert "one\ntwo\nthree\nfour" in texts(agent, 2)


def test_each_default_prompt_is_a_text(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.open(editor.write("a.py", "one\n"))
    assert editor.lua("return vim.fn.getcompletion('Acp ask ', 'cmdline')") == DEFAULTS
    names = [name for name in DEFAULTS if name != "conflicts"]
    for count, name in enumerate(names, 1):
        editor.keys(f":Acp ask {name}<CR>")
        assert len(texts(agent, count)) > 200
        editor.wait_event("AcpTurnEnd", count)


def test_prompts_of_the_user_come_before_the_defaults(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.open(editor.write("a.py", "one\ntwo\n"))
    editor.setup({"prompts": {"fix": "Mend {line}", "docs": False, "mine": {"text": "Mine"}}})
    editor.lua(FUNCTIONS, editor.options)
    names = editor.lua("return vim.fn.getcompletion('Acp ask ', 'cmdline')")
    assert "docs" not in names
    assert {"mine", "made", "nothing", "broken"} <= set(names)
    editor.keys(":Acp ask fix<CR>")
    assert "Mend {line}" in texts(agent)
    assert "one" in texts(agent)
    editor.wait_event("AcpTurnEnd")
    editor.keys(":1,2Acp ask made<CR>")
    assert "a.py 1-2 one\ntwo" in texts(agent, 2)
    editor.wait_event("AcpTurnEnd", 2)
    editor.cmd("Acp ask nothing")
    with pytest.raises(EditorError, match=r"Prompt 'broken': .*no luck"):
        editor.cmd("Acp ask broken")
    with pytest.raises(EditorError, match="Unknown prompt 'explian', did you mean 'explain'"):
        editor.cmd("Acp ask explian")
    assert len(agent.received("session/prompt")) == 2


def test_a_prompt_with_a_preset_goes_to_a_session_with_it(editor: Editor) -> None:
    agent = editor.agent("hello")
    prompts = {"judge": {"text": "Judge this", "preset": "strict"}}
    editor.setup({"presets": {"strict": {}}, "prompts": prompts})
    editor.turn("hi")
    editor.keys(":Acp ask judge<CR>")
    editor.wait_event("AcpTurnEnd", 2)
    assert editor.session()["preset"] == "strict"
    editor.keys(":Acp ask judge<CR>")
    editor.wait_event("AcpTurnEnd", 3)
    assert len(agent.received("session/new")) == 2
    assert "preset" not in editor.session(1)


def test_the_choice_has_a_preview_and_keeps_the_range(editor: Editor) -> None:
    agent = embedding(editor)
    editor.write(".acp/prompts/deploy.md", "Deploy \x1b[31mnow\n")
    editor.open(editor.write("a.py", "one\ntwo\n"))
    editor.lua(PREVIEWS)
    editor.keys(":2Acp ask<CR>")
    editor.wait("_G.acp_previews ~= nil")
    previews = editor.lua("return _G.acp_previews")
    assert sorted(previews) == sorted([*DEFAULTS, "deploy (of the project)"])
    assert previews["explain"][0].startswith("Explain this code")
    assert "Deploy" not in "\n".join(previews["deploy (of the project)"])
    found = blocks(agent)
    assert found[0]["text"].startswith("Explain this code")
    assert found[1]["resource"]["text"] == "two"


PROJECT = "---\npreset: strict\ndescription: all of it\n---\n\nDeploy {branch}\n\nNow.\n"


def test_a_prompt_of_the_project_is_sent_after_it_was_seen(editor: Editor) -> None:
    agent = embedding(editor)
    editor.setup({"presets": {"strict": {}}})
    editor.write(".acp/prompts/deploy.md", PROJECT)
    editor.open(editor.write("a.py", "one\ntwo\n"))
    editor.keys(":2Acp ask deploy<CR>")
    editor.wait(f"{QUESTIONS} == 1")
    [question] = editor.session(1)["questions"]
    assert question["title"] == "Send the project's prompt .acp/prompts/deploy.md?"
    editor.see_question()
    screen = "\n".join(editor.screen())
    assert "preset: strict" in screen
    assert "Deploy {branch}" in screen
    assert not agent.received("session/prompt")
    editor.keys("ggOzero<Esc>")  # the lines follow edits
    editor.answer("Acp allow")
    found = blocks(agent)
    assert found[0]["text"].strip() == "Deploy {branch}\n\nNow."
    assert found[1]["resource"]["text"] == "two"
    editor.wait_event("AcpTurnEnd")
    assert editor.session()["preset"] == "strict"
    editor.keys(":Acp ask deploy<CR>")
    editor.wait_event("AcpTurnEnd", 2)  # not asked again
    editor.write(".acp/prompts/deploy.md", "Another text\n")
    editor.keys(":Acp ask deploy<CR>")
    editor.wait("#require('acp').state().sessions[2].questions == 1")
    editor.answer("Acp deny")
    editor.wait("#require('acp').state().sessions[2].questions == 0")
    editor.keys(":Acp ask deploy<CR>")
    editor.wait_screen("Not sent: the project's prompt deploy")
    assert len(agent.received("session/prompt")) == 2


def test_a_lasting_answer_holds_in_the_next_neovim(
    editor: Editor, edit: Callable[..., Editor]
) -> None:
    agent = editor.agent("hello")
    editor.write(".acp/prompts/deploy.md", "Deploy\n")
    editor.keys(":Acp ask deploy<CR>")
    editor.wait(f"{QUESTIONS} == 1")
    editor.see_question()
    editor.lua(
        "local s = require('acp').state().sessions[1]"
        " require('acp').answer(s.questions[1].id, 'allow_always')"
    )
    assert texts(agent) == "Deploy"
    editor.wait_event("AcpTurnEnd")
    stored = editor.home / "data/nvim/acp/prompts.json"
    assert stored.stat().st_mode & 0o777 == 0o600
    assert list(json.loads(stored.read_text()).values()) == [True]
    editor.keys(":AcpPrompt<CR>#dep<C-x><C-o><Esc>")
    editor.wait("vim.api.nvim_get_current_line() == 'Deploy'")


def test_no_prompt_of_the_project_takes_the_name_of_another(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.write(".acp/prompts/fix.md", "Theirs\n")
    editor.write(".acp/prompts/mine.md", "Theirs\n")
    editor.setup({"prompts": {"mine": "My own"}})
    names = editor.lua("return vim.fn.getcompletion('Acp ask ', 'cmdline')")
    assert {"fix", "fix.md", "mine", "mine.md"} <= set(names)
    editor.keys(":Acp ask mine<CR>")
    assert texts(agent) == "My own"


def test_files_that_are_not_texts_of_the_project_are_left_out(editor: Editor) -> None:
    editor.agent("hello")
    secret = editor.home / "secret"
    secret.write_text("password")
    folder = editor.write(".acp/prompts/good.md", "Good\n").parent
    (folder / "link.md").symlink_to(secret)
    (folder / "binary.md").write_bytes(b"a\0b")
    (folder / "latin.md").write_bytes(b"\xe4\xf6")
    (folder / "empty.md").write_text("\n")
    (folder / "large.md").write_text("x" * 70_000)
    (folder / "folder.md").mkdir()
    subprocess.run(["mkfifo", str(folder / "pipe.md")], check=True)
    names = editor.lua("return vim.fn.getcompletion('Acp ask ', 'cmdline')")
    assert sorted(set(names) - set(DEFAULTS)) == ["good"]
    folder.rename(editor.home / "elsewhere")
    folder.symlink_to(editor.home / "elsewhere")
    assert editor.lua("return vim.fn.getcompletion('Acp ask ', 'cmdline')") == DEFAULTS


CONFLICT = "a\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\nb\n"
WITH_BASE = CONFLICT.replace("=======", "||||||| base\nfirst\n=======")


def test_conflicts_have_both_sides_and_the_base(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.open(editor.write("a.txt", WITH_BASE + CONFLICT))
    editor.keys(":1,8Acp ask conflicts<CR>")
    text = texts(agent)
    assert text.startswith("Resolve the merge conflicts of this file.")
    assert "Conflict 1 of 1, lines 2 to 8 of a.txt:" in text
    assert "ours\n||||||| base\nfirst\n=======\ntheirs\n" in text
    editor.wait_event("AcpTurnEnd")
    editor.keys(":Acp ask conflicts<CR>")
    assert "Conflict 2 of 2, lines 11 to 15 of a.txt:" in texts(agent, 2)


def test_the_base_of_conflicts_comes_from_git(editor: Editor) -> None:
    agent = editor.agent("hello")
    path = editor.write("sub/a.txt", "one\nfirst\nthree\n")
    merge(editor.work, path)
    editor.open(path)
    assert "<<<<<<<" in path.read_text()
    assert "first" not in path.read_text()
    editor.keys(":Acp ask conflicts<CR>")
    text = texts(agent)
    assert "The conflicts as git recorded them, with their base:" in text
    assert "ours\n||||||| base\nfirst\n=======\ntheirs\n>>>>>>> theirs" in text


def merge(work: Path, path: Path) -> None:
    """Commit the file, change its second line on two branches, and merge them."""

    def git(*args: str, fine: bool = False) -> None:
        names = ["-c", "user.name=me", "-c", "user.email=me@example.invalid"]
        subprocess.run(["git", *names, *args], cwd=work, check=not fine, capture_output=True)

    def commit(text: str) -> None:
        path.write_text(f"one\n{text}\nthree\n")
        git("add", "-A")
        git("commit", "-qm", text)

    git("init", "-q", "-b", "main")
    commit("first")
    git("checkout", "-qb", "other")
    commit("theirs")
    git("checkout", "-q", "main")
    commit("ours")
    git("merge", "other", fine=True)


def test_a_file_without_conflicts_is_not_sent(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.open(editor.write("a.txt", "one\n"))
    editor.keys(":Acp ask conflicts<CR>")
    editor.wait_screen("No conflict markers here")
    assert not agent.received()


def test_the_answer_to_conflicts_is_pending(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", CONFLICT)
    editor.open(path)
    editor.setup({"prompts": {"conflicts": f"replace {path} ours both"}})
    editor.keys(":Acp ask conflicts<CR>")
    editor.wait_event("AcpTurnEnd")
    editor.wait("#require('acp').state().sessions[1].edits == 1")


def test_a_prompt_completes_in_the_composer(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.setup({"prompts": {"two": "First {line}\nsecond", "other": "Other"}})
    editor.lua(FUNCTIONS, editor.options)
    editor.write(".acp/prompts/twofold.md", "Unseen\n")
    editor.open(editor.write("a.txt", "the line\n" + CONFLICT))
    editor.cmd("AcpPrompt")
    editor.keys("<Esc><C-w>k")
    editor.wait("vim.bo.filetype == 'acpchat'")
    editor.keys("i")  # now the previous window is the chat
    editor.keys("#tw<C-x><C-o>")
    words = editor.wait(
        "local items = vim.fn.complete_info().items"
        " return #items > 0 and vim.tbl_map(function(it) return it.word end, items)"
    )
    assert words == ["#twice", "#two"]
    editor.keys("<C-y> ")
    editor.wait(f"{LINES}[1] == 'Look at a.txt '")
    editor.errors_expected = True
    editor.keys("#broken<C-x><C-o> ")
    editor.wait_screen("Prompt 'broken'")
    editor.keys("<C-u>#conflicts<C-x><C-o> ")
    editor.wait(f"{LINES}[1]:find('^Resolve the merge conflicts')")
    assert "Conflict 1 of 1, lines 3 to 7 of a.txt:" in "\n".join(editor.lua(f"return {LINES}"))
    editor.keys("<Esc>:%d _<CR>iPlease #two<C-x><C-o> and more")
    text = ["Please First {line}", "second and more"]
    editor.wait(f"vim.deep_equal({LINES}, ...)", text)
    editor.keys("<C-s>")
    assert texts(agent).startswith("\n".join(text))
    assert "the line" in texts(agent)


LINES = "vim.api.nvim_buf_get_lines(0, 0, -1, false)"


def test_a_sign_that_is_not_a_prompt_stays(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.cmd("AcpPrompt")
    editor.keys("# Heading, #12 and #fix<C-s>")
    assert texts(agent) == "# Heading, #12 and #fix"


@pytest.mark.parametrize(
    ("value", "mistakes"),
    [
        ("{ a = 'x', b = { text = 'x' }, c = function() end, d = false }", []),
        (
            "{ a = 1 }",
            [f"{SHOULD} a text, a table with 'text' or a function"],
        ),
        ("{ a = {} }", [f"{SHOULD} a table with 'text'"]),
        ("{ a = ' ' }", [f"{SHOULD} a text with words"]),
        (
            "{ a = { text = 'x', preset = 'y' } }",
            ["Unknown preset of prompt 'a': 'y'"],
        ),
    ],
)
def test_each_mistake_in_the_prompts_is_one_line(
    front: Editor, value: str, mistakes: list[str]
) -> None:
    assert front.lua(MISTAKES, value) == mistakes
