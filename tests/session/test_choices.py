"""Questions with choices in permission requests."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import choices
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Outcome

COLOUR = {"question": "Which colour?", "options": [{"label": "Red"}, {"label": "no"}]}
SIZES = {"question": "Sizes?", "options": [{"label": "S"}, {"label": "L"}], "multiSelect": True}
OPTIONS = [
    schema.PermissionOption("go", "Submit", "allow_once"),
    schema.PermissionOption("no", "Cancel", "reject_once"),
]


def call(*questions: Any, **meta: Any) -> ToolCall:
    meta = {"qwenInteractionKind": "user_question", "qwenQuestions": list(questions), **meta}
    return ToolCall("c", title="Ask", kind="think", meta=meta)


def answer(asked: list[choices.Question], decision: Decision, outcome: Outcome) -> Any:
    found = choices.make_responder(asked, decision, OPTIONS)(outcome)
    return msgspec.json.decode(msgspec.json.encode(found))


def simple() -> tuple[list[choices.Question], Decision]:
    about = call(COLOUR)
    asked = choices.questions_of(about, OPTIONS)
    request = schema.RequestPermissionRequest("s", schema.PermissionToolCall("c"), OPTIONS)
    return asked, choices.make_decision("d", about, asked[0], request)


def test_the_options_are_the_choices_and_a_refusal() -> None:
    asked, decision = simple()
    assert [(it.id, it.kind) for it in decision.options] == [
        ("Red", "choice"),
        ("2. no", "choice"),
        ("no", "reject_once"),
    ]
    assert decision.first("allow_once") is None
    for number, label in enumerate(("Red", "no")):
        outcome = Outcome("selected", decision.options[number])
        assert answer(asked, decision, outcome) == {
            "outcome": {"outcome": "selected", "optionId": "go"},
            "answers": {"0": label},
        }


def test_an_answer_chooses_no_option_for_always_if_there_is_another() -> None:
    asked, decision = simple()
    options = [
        schema.PermissionOption("always", "Always", "allow_always"),
        schema.PermissionOption("never", "Never", "reject_always"),
        *OPTIONS,
    ]
    respond = choices.make_responder(asked, decision, options)
    for outcome, id in (
        (Outcome("selected", decision.options[0]), "go"),
        (Outcome("decline"), "no"),
    ):
        chosen = respond(outcome).outcome
        assert isinstance(chosen, schema.SelectedPermissionOutcome)
        assert chosen.option_id == id


@pytest.mark.parametrize(
    ("outcome", "wire"),
    [
        (CANCELLED, {"outcome": "cancelled"}),
        (Outcome("decline"), {"outcome": "selected", "optionId": "no"}),
    ],
)
def test_a_refusal_has_no_answers(outcome: Outcome, wire: Any) -> None:
    asked, decision = simple()
    assert answer(asked, decision, outcome) == {"outcome": wire}
    refused = Outcome("selected", decision.option("no"))
    assert answer(asked, decision, refused)["outcome"]["optionId"] == "no"


def test_several_questions_are_a_form() -> None:
    asked = choices.questions_of(call(COLOUR, SIZES), OPTIONS)
    assert not choices.is_simple(asked)
    assert list(choices.make_form(asked).requested_schema.properties or ()) == ["0", "1"]
    decision = Decision("d", "elicitation", "2 questions")
    filled = Outcome("accept", content={"0": "Red", "1": ["S", "L"]})
    assert answer(asked, decision, filled)["answers"] == {"0": "Red", "1": "S, L"}


@pytest.mark.parametrize(
    "about",
    [
        call(COLOUR, qwenInteractionKind="permission"),
        call({"question": "Which?", "options": []}),
        call({"question": 7}),
        call(),
        ToolCall("c", raw_input={"questions": [COLOUR]}),
        msgspec.structs.replace(call(COLOUR), raw_input={"command": "rm -rf /"}),
        msgspec.structs.replace(call(COLOUR), content=[schema.Diff("/w/a", "new")]),
    ],
)
def test_anything_else_is_a_permission(about: ToolCall) -> None:
    assert choices.questions_of(about, OPTIONS) == []
    assert choices.questions_of(call(COLOUR), OPTIONS[1:]) == []
