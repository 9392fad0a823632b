"""Verbs for elicitations: open, review and send forms, open URLs (v1/elicitation)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp_nvim.app import Host
from acp_nvim.features.forms import ReviewedForms, words
from acp_nvim.host.questions import pending_question
from acp_nvim.protocol import schema
from acp_nvim.render import in_full
from acp_nvim.render.calls.tools import call_of_question
from acp_nvim.session.questions import addresses, form_page, forms
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Outcome
from acp_nvim.verbs import Args, verb


@verb("answer_form")
def answer(host: Host, args: Args) -> None:
    """Answer an elicitation (accept, decline, cancel), or open its form."""
    decision, choice = pending_question(host, args), str(args["choice"])
    if decision is None:
        return
    match choice:
        case "accept":
            _accept(host, decision, args.get("content"))
        case "decline":
            decision.resolve(Outcome("decline"))
        case "cancel":
            decision.resolve(CANCELLED)
        case "open" if decision.option("open"):
            open_form(host, decision)
        case _:
            answers = ", ".join(option.id for option in decision.options)
            host.echo("error", words.NO_ANSWER.format(answer=choice, answers=answers))


def _accept(host: Host, decision: Decision, content: Any) -> None:
    """Accept a form with these values, or open a URL."""
    request = decision.request
    if isinstance(request, schema.ElicitationUrlMode):
        _open_address(host, decision, request.url)
        return
    form = forms.fields(request.requested_schema)
    if content and not isinstance(content, Mapping):
        host.echo("error", words.FORM_VALUES)
        return
    values = forms.with_defaults(form, content or {})
    problems = forms.check(form, values)
    if problems:
        host.echo("error", _problem_summary(problems))
        return
    decision.resolve(Outcome("accept", content=forms.to_wire(form, values)))


def _open_address(host: Host, decision: Decision, url: str) -> None:
    if not addresses.is_safe(url):
        host.echo("error", "; ".join(addresses.warnings(url)) or words.ADDRESS_REFUSED)
    elif decision.resolve(Outcome("accept")):
        host.screen.push("open_url", url)


def _problem_summary(problems: list[forms.Problem]) -> str:
    first, more = str(problems[0]), len(problems) - 1
    return words.AND_MORE.format(first=first, count=more) if more else first


@verb("open_decision")
def open_decision(host: Host, args: Args) -> None:
    """Open the form of a card (`<CR>`), or show any other question in full."""
    decision = pending_question(host, args)
    if decision is None:
        return
    if decision.option("open"):
        open_form(host, decision)
    else:
        host.screen.push(
            "show", f"acp://question/{decision.id}", "markdown", _full_lines(host, decision)
        )


def _full_lines(host: Host, decision: Decision) -> list[str]:
    """Return a question in full, with its tool call if it has one."""
    for session in host.session_list.all():
        entry = call_of_question(decision, session) if session.decisions.get(decision.id) else None
        if entry is not None:
            return in_full.call_in_full(entry)
    return in_full.question_in_full(decision)


def open_form(host: Host, decision: Decision) -> None:
    """Show a form for editing, with its default values."""
    form = forms.fields(decision.request.requested_schema)
    defaults = {field.name: field.default for field in form if field.default is not None}
    about = [decision.title, *_heading_lines(decision.request.requested_schema)]
    about.append(words.FORM_HELP)
    lines = form_page.page_lines(form, defaults, about)
    cursor = form_page.first_value(lines)
    host.screen.push("form", decision.id, {"lines": lines, "cursor": cursor})
    decision.waiters.append(
        lambda outcome: host.screen.push("form_closed", decision.id, outcome.kind, decision.by)
    )


def _heading_lines(form: schema.ElicitationSchema) -> list[str]:
    return [text for text in (schema.given(form.title), schema.given(form.description)) if text]


@verb("form_write")
def form_write(host: Host, args: Args) -> None:
    """Check the values of a form. If they are valid, show them for confirmation."""
    decision = pending_question(host, args)
    if decision is None:
        return
    form = forms.fields(decision.request.requested_schema)
    page = form_page.parse_page(form, [str(line) for line in args.get("lines") or ()])
    unread = {problem.name for problem in page.problems}
    wrong = [problem for problem in forms.check(form, page.values) if problem.name not in unread]
    problems = sorted([*page.problems, *wrong], key=lambda problem: page.rows.get(problem.name, 0))
    host.parts.get(ReviewedForms).pop(decision.id, None)
    if problems:
        rows = [[page.rows.get(problem.name, 0), str(problem)] for problem in problems]
        host.screen.push("form_problems", decision.id, rows)
        host.echo("error", _problem_summary(problems))
        return
    host.parts.get(ReviewedForms)[decision.id] = forms.to_wire(form, page.values)
    host.screen.push("form_review", decision.id, form_page.summary(form, page.values))


@verb("form_send")
def form_send(host: Host, args: Args) -> None:
    """Send exactly the values that the user reviewed."""
    decision = pending_question(host, args)
    values = host.parts.get(ReviewedForms).pop(str(args.get("id")), None)
    if decision is not None and values is not None:
        decision.resolve(Outcome("accept", content=values))
