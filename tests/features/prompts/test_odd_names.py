"""Files with odd names in prompts, for the table of `odd_names`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, last
from tests.support.odd_names import ODD_NAMES, make_odd_files

OMNI = "return vim.tbl_map(function(one) return one.word end, {call}.words)"


@pytest.fixture
def odd(edit: Callable[..., Editor]) -> Editor:
    """Return an editor without a host, with a file of each odd name and `USER` set."""
    editor = edit(init=HOST + RECORD_NOTIFY, env={"USER": "plain"})
    make_odd_files(editor.work)
    return editor


def sent_paths(editor: Editor, text: str) -> list[str]:
    """Return the paths that are sent with a prompt."""
    editor.lua("require('acp').prompt(...)", text)
    args: dict[str, Any] = last(editor)[1]
    assert args["text"] == text
    attached: list[str] = args.get("attach", [])
    return attached


def differences(found: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: found[name] for name in wanted if found[name] != wanted[name]}


def menu(editor: Editor, lead: str) -> list[dict[str, Any]]:
    """Return the items of the composer's menu for `@…` once the files are listed."""
    editor.wait("select(2, require('acp.features.prompts.composer.files').list(vim.fn.getcwd()))")
    items: list[dict[str, Any]] = editor.lua(
        "return require('acp.features.prompts.composer.completion').omni(0, ...).words", "@" + lead
    )
    return items


def test_a_mention_from_the_menu_names_its_file(odd: Editor) -> None:
    words = [item["word"] for item in menu(odd, "") if item["word"][-1] not in "}/"]
    words += ["@\\{this}", "@${USER}.txt"]
    assert all("\n" not in word for word in words)
    attached = {word: sent_paths(odd, f"see {word}, and more") for word in words}
    assert [word for word in attached if not attached[word]] == []
    assert sorted(path for paths in attached.values() for path in paths) == sorted(
        f"{odd.work}/{name}" for name in ODD_NAMES
    )
    assert odd.lua("return _G.notified") == []


def test_the_menu_spells_out_deceptive_names(odd: Editor) -> None:
    shown = {item["word"]: item.get("abbr") for item in menu(odd, "txt")}
    assert shown["@\u202etxt.exe"] == "@<U+202E>txt.exe"
    assert shown["@line\\nbreak.txt"] == "@line^Jbreak.txt"


def test_a_chosen_mention_is_typed_whole(odd: Editor) -> None:
    menu(odd, "")
    odd.cmd("AcpPrompt")
    odd.keys("see @dirwithblankab")
    odd.keys("<C-x><C-o>")
    line = "see @dir\\ with\\ blank/a\\ b.txt"
    odd.wait("vim.api.nvim_get_current_line() == ...", line)
    assert odd.lua("return require('acp.features.prompts.composer.completion').omni(1, '')") == len(
        "see "
    )
    odd.keys("<Esc>")


def test_blanks_in_a_mention_need_no_backslash(odd: Editor) -> None:
    path = f"{odd.work}/dir with blank/a b.txt"
    assert sent_paths(odd, "see @dir with blank/a b.txt, please") == [path]
    odd.write("a", "a shorter name\n")
    assert sent_paths(odd, "see @a b.txt") == [f"{odd.work}/a"]
    assert odd.lua("return _G.notified") == []


def test_a_mention_without_a_file_is_reported_and_the_prompt_is_sent(odd: Editor) -> None:
    assert sent_paths(odd, "ask @nobody about @plain.txt\nand @no\x1bne.") == [
        f"{odd.work}/plain.txt"
    ]
    messages = odd.lua("return _G.notified")
    assert [text for text, _ in messages] == ["acp: Not attached, no such file: @nobody, @no^[ne."]


@pytest.mark.parametrize("command", ["vim.cmd.Acp({ args = { 'attach', ... } })", "type"])
def test_attach_accepts_the_result_of_fnameescape(odd: Editor, command: str) -> None:
    found = {}
    for name in ODD_NAMES:
        if name.startswith("~/"):
            continue  # this is the name of another file, in the home directory
        escaped = odd.lua("return vim.fn.fnameescape(...)", name)
        if command == "type":
            if "\n" in name:
                continue  # two lines
            odd.cmd(f"Acp attach {escaped}")
        else:
            odd.lua(command, escaped)
        found[name] = odd.lua(
            "local a = require('acp.features.prompts.attachments')"
            " local all = a.list(1) a.clear(1) return all"
        )
    assert differences(found, {name: [f"{odd.work}/{name}"] for name in found}) == {}


def test_attach_completes_to_arguments_that_it_accepts(odd: Editor) -> None:
    typed = [
        argument
        for lead in ("", *{f"{Path(name).parts[0]}/" for name in ODD_NAMES if "/" in name})
        for argument in odd.lua(
            "return vim.fn.getcompletion('Acp attach ' .. ..., 'cmdline')",
            odd.lua("return require('acp.base.paths').quote_argument(...)", lead),
        )
        if not argument.endswith("/") and argument != "-"
    ]
    for argument in typed:
        assert "\n" not in argument
        odd.cmd(f"Acp attach {argument}")
    attached = odd.lua("return require('acp.features.prompts.attachments').list(1)")
    assert sorted(attached) == sorted(f"{odd.work}/{name}" for name in ODD_NAMES)


def test_arguments_that_the_user_types_are_expanded(odd: Editor) -> None:
    home = odd.home / "mine.txt"
    home.write_text("mine\n", encoding="utf-8")
    assert sent_paths(odd, "see @~/mine.txt") == [str(home)]
    odd.open("dir with blank/a b.txt")
    odd.cmd("Acp attach ~/mine.txt $HOME/mine.txt ${USER}.txt % %:h/a\\ b.txt")
    assert odd.lua("return require('acp.features.prompts.attachments').list(1)") == [
        str(home),
        f"{odd.work}/plain.txt",
        f"{odd.work}/dir with blank/a b.txt",
    ]


def test_a_missing_file_suggests_one_that_can_be_typed(odd: Editor) -> None:
    odd.cmd("Acp attach a\\ b.tx")
    assert odd.lua("return _G.notified[#_G.notified][1]") == (
        "acp: Unknown file 'a\\ b.tx', did you mean 'a\\ b.txt'?"
    )


def test_ranges_variables_and_labels_have_the_plain_name(odd: Editor) -> None:
    found, wanted, labels = {}, {}, []
    for name in ODD_NAMES:
        path = f"{odd.work}/{name}"
        odd.lua("vim.cmd.edit(vim.fn.fnameescape(...))", path)
        odd.cmd("%AcpPrompt see {this} {buffer} {buffers}")
        args = last(odd)[1]
        texts = {one["name"]: one["text"] for one in args["variables"]}
        shown = odd.lua("return require('acp.base.paths').on_one_line(...)", name)
        found[name] = (
            args["range"]["path"],
            texts["this"],
            texts["buffer"],
            shown in texts["buffers"].split("\n"),
        )
        wanted[name] = (path, f"{shown}:1:1: one", f"{shown}\none", True)
        labels.append(odd.lua("return require('acp.base.places').label(...)", args["range"]))
    assert differences(found, wanted) == {}
    assert len(set(labels)) == len(labels)
    assert all(label.isprintable() or "\u200d" in label or "\udcff" in label for label in labels)


def test_the_agent_gets_the_file_of_each_mention(editor: Editor) -> None:
    make_odd_files(editor.work)
    takes = {"promptCapabilities": {"embeddedContext": True}}
    agent = editor.agent("script", capabilities=takes)
    found = {}
    for name in ODD_NAMES:
        mention = editor.lua("return '@' .. require('acp.base.paths').quote_mention(...)", name)
        mention = re.sub("(['\"`])", r"\\\1", mention)  # the agent's script has quotes too
        editor.turn(f"say {mention} now")
        blocks = agent.received("session/prompt")[-1]["params"]["prompt"]
        resources = [block["resource"] for block in blocks if block["type"] == "resource"]
        found[name] = [(it["uri"], it["text"]) for it in resources]
    wanted = {name: [(Path(f"{editor.work}/{name}").as_uri(), "one\n")] for name in ODD_NAMES}
    assert differences(found, wanted) == {}
