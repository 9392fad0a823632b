"""Rules that the user keeps from questions: exactly the action that was shown (contract 12)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking_agent import Asking
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, picker_questions

OFFER = "Always in this project: "


def edit(path: Path | str, **more: Any) -> dict[str, Any]:
    diff = {"type": "diff", "path": str(path), "oldText": "one\n", "newText": "ONE\n"}
    return {"title": f"Edit {path}", "kind": "edit", "content": [diff], **more}


def run(line: str, **more: Any) -> dict[str, Any]:
    return {"title": "Run it", "kind": "execute", "rawInput": {"command": line, **more}}


@pytest.fixture
def asking(editor: Editor) -> Asking:
    install_picker(editor)
    return Asking(editor)


def always(asking: Asking, id: str, call: dict[str, Any], answer: str | None) -> None:
    """Ask, and press `Y` on the question; the picker gives this answer to an offer."""
    editor = asking.editor
    before = asking.outcomes()
    asking.ask(id, call)
    editor.lua("_G.acp_answers = { ... }", *([] if answer is None else [answer]))
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    editor.press("Y")
    asking.answered(*before, "always")
    editor.wait("#require('acp').state().sessions[1].permissions == 0")


def keep(asking: Asking, id: str, call: dict[str, Any], text: str) -> None:
    """Keep the rule of a question, and assert the text that was shown before."""
    shown = len(picker_questions(asking.editor))
    always(asking, id, call, "Keep this rule")
    asking.editor.wait("#_G.acp_asked > ...", shown)
    assert picker_questions(asking.editor)[-1]["prompt"] == OFFER + text
    asking.editor.wait_message("Stored for this project")
    asking.editor.cmd("messages clear")


def allowed(asking: Asking, id: str, call: dict[str, Any]) -> None:
    before = asking.outcomes()
    asking.agent.ask("asks_about", id, json.dumps(call))
    asking.answered(*before, "allow")


def rules(editor: Editor) -> list[str]:
    editor.cmd("Acp rules")
    editor.wait("vim.fn.bufexists('acp://rules') == 1")
    return editor.lines("acp://rules")


def test_a_kept_command_is_allowed_exactly_as_shown(asking: Asking) -> None:
    keep(asking, "one", run("make test"), "run make test")
    allowed(asking, "same", run("make test"))
    for line in (
        "make test ",
        "make  test",
        "make test -j2",
        "MAKE test",
        "make test; rm x",
        "make",
    ):
        asking.assert_asks(line, run(line))
    asking.assert_asks("newline", run("make test\nrm x"))
    asking.assert_asks("directory", run("make test", cwd=f"{asking.editor.work}/sub"))
    asking.assert_asks("variables", run("make test", env={"A": "b"}))
    asking.assert_asks("kind", {**run("make test"), "kind": "other"})
    asking.end()


def test_a_kept_edit_is_for_one_path(asking: Asking) -> None:
    editor = asking.editor
    path = editor.write("a.txt", "one\n")
    editor.write("b.txt", "one\n")
    link = editor.work / "link.txt"
    link.symlink_to(path)
    keep(asking, "one", edit(path), "edit a.txt")
    keep(asking, "link", edit(link), "edit link.txt")
    allowed(asking, "same", edit(path))
    allowed(asking, "same link", edit(link))
    link.unlink()
    link.symlink_to(editor.work / "b.txt")
    asking.assert_asks("other target", edit(link))
    asking.assert_asks("case", edit(editor.work / "A.txt"))
    asking.assert_asks("dots", edit(f"{editor.work}/sub/../a.txt"))
    asking.assert_asks("delete", {**edit(path), "kind": "delete"})
    asking.assert_asks("with a command", edit(path, rawInput={"command": "make test"}))
    asking.end()


ALWAYS_ASK: list[dict[str, Any]] = [
    edit(".env"),
    edit(".git/hooks/pre-commit"),
    edit("/etc/passwd"),
    run("cat /etc/passwd"),
    run("make test\nrm x"),
    run("cat $HOME/x"),
    {"title": "Fetch", "kind": "fetch", "rawInput": {"url": "https://x.y"}},
    {"title": "Run it", "kind": "execute"},
]


def test_no_rule_is_offered_for_actions_that_always_ask(asking: Asking) -> None:
    for number, call in enumerate(ALWAYS_ASK):
        always(asking, f"one {number}", call, "Keep this rule")
        asking.assert_asks(f"again {number}", call)
        assert picker_questions(asking.editor) == []
    asking.end()


def test_a_declined_offer_keeps_nothing(asking: Asking) -> None:
    always(asking, "one", run("make test"), "No")
    asking.assert_asks("again", run("make test"))
    asking.end()


def test_a_deny_wins_over_a_kept_rule(asking: Asking) -> None:
    keep(asking, "one", run("make test"), "run make test")
    asking.editor.setup({"permission": {"rules": [{"action": "deny", "command": "make *"}]}})
    before = asking.outcomes()
    asking.agent.ask("asks_about", "two", json.dumps(run("make test")))
    asking.answered(*before, "reject")
    assert rules(asking.editor) == [
        "deny command make *  · permission.rules",
        "allow run make test  · this project",
    ]
    asking.end()


def test_a_key_removes_a_rule(asking: Asking) -> None:
    editor = asking.editor
    keep(asking, "one", run("make test"), "run make test")
    assert rules(editor) == ["allow run make test  · this project"]
    editor.wait("vim.bo.filetype == 'acprules'")
    editor.keys("d")
    editor.wait_message("Rule removed")
    asking.assert_asks("again", run("make test"))
    asking.end()


def test_without_an_option_of_the_agent_the_rule_allows_once(editor: Editor) -> None:
    install_picker(editor)
    call = {"toolCallId": "c1", **run("make test")}
    options = [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    traffic = editor.agent("permission_json", json.dumps({"toolCall": call, "options": options}))
    editor.prompt("ask")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.lua("_G.acp_answers = { 'Keep this rule' }")
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    editor.press("Y")
    editor.wait_event("AcpTurnEnd")
    editor.turn("again")
    answers = traffic.wait_answers("session/request_permission", 2)
    assert [it["result"]["outcome"]["optionId"] for it in answers] == ["yes", "yes"]
    assert len(picker_questions(editor)) == 1


def test_a_rule_is_of_its_project_and_outlives_neovim(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    first = edit()
    install_picker(first)
    asking = Asking(first)
    keep(asking, "one", run("make test"), "run make test")
    file = Path(first.lua("return vim.fn.stdpath('data')")) / "acp" / "rules.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [*json.loads(file.read_bytes())] == [str(first.work)]
    asking.end()


def test_another_neovim_of_the_project_follows_a_rule_at_once(edit: Callable[..., Editor]) -> None:
    first = edit()
    second = edit(env={"XDG_DATA_HOME": str(first.home / "data")}, work=first.work)
    for editor in (first, second):
        install_picker(editor)
    one, other = Asking(first), Asking(second)
    other.assert_asks("before", run("make test"))
    keep(one, "one", run("make test"), "run make test")
    allowed(other, "after", run("make test"))
    keep(other, "two", run("make all"), "run make all")
    allowed(one, "after", run("make all"))
    assert rules(first) == [f"allow run make {it}  · this project" for it in ("test", "all")]
    one.end()
    other.end()
