"""Questions with choices in a permission request, as sent by Qwen Code.

Its question tool requests a permission whose call has the questions in `_meta`. The response has
the answers next to the outcome, by the number of the question: `{"outcome": …, "answers": {"0":
"Red"}}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from acp_nvim.protocol import schema, updates
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.lists import OPTIONS
from acp_nvim.session.questions import requests
from acp_nvim.session.questions.decisions import CHOICE, Decision, Option, Outcome


class Choice(Struct, frozen=True):
    """Answer that a question offers."""

    label: str
    description: str = ""

    @property
    def name(self) -> str:
        """Return the label with its description."""
        return f"{self.label} — {self.description}" if self.description else self.label


class Question(Struct, frozen=True, rename="camel"):
    """Question with its choices."""

    question: str
    options: list[Choice]
    header: str = ""
    multi_select: bool = False

    @property
    def title(self) -> str:
        """Return the question, preceded by the header if the question does not contain it."""
        is_named = self.header.lower() in self.question.lower()
        return self.question if is_named else f"{self.header}: {self.question}"


class AnsweredResponse(schema.RequestPermissionResponse, frozen=True):
    """Response with the answers, keyed by the number of the question (from 0)."""

    answers: dict[str, str]


def questions_of(call: ToolCall, options: Sequence[schema.PermissionOption]) -> list[Question]:
    """Return the questions in a permission request, if it has any.

    `options` are the options of the request. A call with a diff or a command has none, since the
    card of a question would not show these.
    """
    meta = call.meta or {}
    if meta.get("qwenInteractionKind") != "user_question":
        return []
    if requests.commands(call) or requests.files_of_diffs(call):
        return []
    if not any(option.kind.startswith("allow") for option in options):
        return []
    raw = call.raw_input
    raw_questions = raw.get("questions") if isinstance(raw, Mapping) else None
    try:
        questions = msgspec.convert(meta.get("qwenQuestions") or raw_questions, list[Question])
    except msgspec.ValidationError:
        return []
    return questions if all(0 < len(question.options) <= OPTIONS for question in questions) else []


def is_simple(questions: Sequence[Question]) -> bool:
    """Return whether one key can answer: there is one question with one answer."""
    return len(questions) == 1 and not questions[0].multi_select


def make_decision(
    decision_id: str,
    call: ToolCall,
    question: Question,
    request: schema.RequestPermissionRequest | updates.PermissionRequest,
) -> Decision:
    """Return the decision of a question.

    Its options are the choices, followed by the agent's options that refuse.
    """
    refusing = [option for option in request.options if option.kind.startswith("reject")]
    used = {option.option_id for option in refusing}
    options: list[Option] = []
    for number, choice in enumerate(question.options, 1):
        id = f"{number}. {choice.label}" if choice.label in used else choice.label
        used.add(id)
        options.append(Option(id, choice.name, CHOICE))
    options += [Option(refusal.option_id, refusal.name, refusal.kind) for refusal in refusing]
    return Decision(
        decision_id,
        "permission",
        question.title,
        kind=call.kind,
        tool_call_id=call.id or None,
        options=options,
        request=request,
        has_choices=True,
        shown_call=call.copy(),
    )


def make_form(questions: Sequence[Question]) -> schema.ElicitationFormMode:
    """Return several questions, or one with several answers, as a form."""
    fields = {str(number): _field(question) for number, question in enumerate(questions)}
    form = schema.ElicitationSchema(properties=fields)
    message = f"{len(questions)} questions" if len(questions) > 1 else questions[0].title
    return schema.ElicitationFormMode(message=message, requested_schema=form)


def _field(question: Question) -> schema.ElicitationPropertySchema:
    values = [schema.EnumOption(option.label, option.name) for option in question.options]
    if question.multi_select:
        items = schema.TitledMultiSelectItems(any_of=values)
        return schema.MultiSelectPropertySchema(items, title=question.title)
    return schema.StringPropertySchema(title=question.title, one_of=values)


def make_responder(
    questions: Sequence[Question], decision: Decision, options: Sequence[schema.PermissionOption]
) -> Callable[[Outcome], schema.RequestPermissionResponse]:
    """Return a function from outcome to response. `options` are the options of the request."""

    def respond(outcome: Outcome) -> schema.RequestPermissionResponse:
        answers = _answers(questions, decision, outcome)
        kind = "reject" if answers is None else "allow"
        wanted = outcome.option.id if answers is None and outcome.option is not None else None
        found = [option for option in options if option.kind.startswith(kind)]
        found.sort(key=lambda option: option.kind != f"{kind}_once")
        option_id = wanted or (found[0].option_id if found else None)
        if option_id is None or outcome.kind == "cancelled":
            return schema.RequestPermissionResponse(schema.CancelledPermissionOutcome())
        selected = schema.SelectedPermissionOutcome(option_id=option_id)
        if answers is None:
            return schema.RequestPermissionResponse(selected)
        return AnsweredResponse(selected, answers)

    return respond


def _answers(
    questions: Sequence[Question], decision: Decision, outcome: Outcome
) -> dict[str, str] | None:
    """Return the answers by the number of the question, or None if the user refused."""
    if outcome.kind == "accept":
        content = outcome.content or {}
        return {
            key: value if isinstance(value, str) else ", ".join(value)
            for key, value in content.items()
        }
    if outcome.option is None or outcome.option.kind != CHOICE:
        return None
    chosen = decision.options.index(outcome.option)
    return {"0": questions[0].options[chosen].label}
