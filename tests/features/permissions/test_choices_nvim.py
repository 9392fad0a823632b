"""A question with choices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor

METHOD = "session/request_permission"
HAS_QUESTION = "#require('acp').state().sessions[1].permissions > 0"


def wait_answer(editor: Editor) -> Any:
    editor.wait_event("AcpTurnEnd")
    return editor.traffic[0].wait_answers(METHOD)[0]["result"]


@pytest.mark.parametrize("by", ["command", "key", "lua"])
def test_the_chosen_option_is_the_answer(editor: Editor, by: str) -> None:
    editor.agent("field_choices")
    editor.prompt("go")
    permission = editor.wait(
        f"{HAS_QUESTION} and require('acp').state().sessions[1].permissions[1]"
    )
    assert [it["id"] for it in permission["options"]] == ["Red", "Blue", "cancel"]
    editor.wait_screen("Scripted asks: Shade: Which colour?")
    editor.wait_screen("1. Red — the red one")
    screen = "\n".join(editor.screen())
    assert screen.count("1. ") == screen.count("2. ") == 1, screen
    assert "Submit" not in screen
    assert '"' not in screen
    editor.wait("require('acp').state().sessions[1].permissions[1].id")
    if by == "command":
        editor.answer("Acp allow")
        editor.wait_message("Choose an answer: :Acp allow Red | Blue")
        assert len(editor.session()["permissions"]) == 1
        editor.answer("Acp allow Blue")
    elif by == "key":
        editor.cmd("Acp permissions")
        editor.press("2")
    else:
        editor.lua("require('acp').answer(..., 'Blue')", permission["id"])
    selected = {"outcome": "selected", "optionId": "proceed_once"}
    assert wait_answer(editor) == {"outcome": selected, "answers": {"0": "Blue"}}
    assert "  ↳ Blue" in editor.chat()


def test_a_refusal_has_no_answer(editor: Editor) -> None:
    editor.agent("field_choices")
    editor.setup({"permission": {"rules": [{"action": "allow"}]}})
    editor.prompt("go")
    editor.wait(HAS_QUESTION)
    editor.wait_screen("Which colour?")
    editor.answer("Acp deny")
    assert wait_answer(editor) == {"outcome": {"outcome": "selected", "optionId": "cancel"}}


def test_several_questions_are_shown_as_a_form(editor: Editor) -> None:
    editor.agent("field_choices", "several")
    editor.prompt("go")
    permission = editor.wait(
        "(require('acp').state().sessions[1].elicitations or {})[1] or false", timeout=10
    )
    content = {"0": "Red", "1": ["Small", "Huge"]}
    editor.lua("require('acp').answer(...)", permission["id"], "accept", content)
    assert wait_answer(editor)["answers"] == {"0": "Red", "1": "Small, Huge"}
