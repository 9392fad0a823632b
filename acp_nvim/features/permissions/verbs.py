"""Verbs for decisions: answer permissions and elicitations, show proposed edits."""

from __future__ import annotations

from pathlib import Path

from acp_nvim import wording
from acp_nvim.agent.serving.proposed_edits import (
    diagnostic_marks,
    has_edits,
    has_other_sources,
    proposal_sources,
    proposal_table,
)
from acp_nvim.app import Host
from acp_nvim.features.permissions import words
from acp_nvim.host.questions import find_question, pending_question, session_asking
from acp_nvim.session.questions.decisions import CANCELLED, CHOICE, Decision, Option, Outcome
from acp_nvim.verbs import Args, verb

MAX_NAMED = 20
"""Maximum number of options that a message names."""


@verb("answer")
def answer(host: Host, args: Args) -> None:
    """Answer the pending decision with this id (Lua's `answer()`). No choice means cancelled."""
    decision, choice = find_question(host, args.get("id")), args.get("choice")
    content = args.get("content")
    if decision is None:
        host.echo("warn", wording.NO_QUESTION.format(id=args.get("id")))
    elif decision.subject != "elicitation" and isinstance(content, dict) and "reason" in content:
        host.run("explain", {"id": decision.id, "option": choice, "reason": content["reason"]})
    elif choice is None:
        decision.resolve(CANCELLED)
    else:
        _choose(host, decision, str(choice), args)


@verb("choose")
def choose(host: Host, args: Args) -> None:
    """Answer the question that the user has seen (`id`) with an option of its card."""
    decision = pending_question(host, args)
    if decision is not None:
        _choose(host, decision, str(args["option"]), args)


@verb("bring")
def show_card(host: Host, args: Args) -> None:
    """Show the card of a waiting question after a key press on its line in the chat."""
    decision = pending_question(host, args)
    session = None if decision is None else session_asking(host, decision)
    if decision is not None and session is not None:
        if session.decisions.show(decision):
            session.change(decision.listed, "more")
        host.echo("warn", words.NEW_QUESTION)


@verb("cards")
def show_cards(host: Host, args: Args) -> None:
    """Show the cards of all listed questions, when the user enters a card."""
    for session in host.session_list.all():
        if session.root is session and session.decisions.show_listed():
            session.change(*{decision.listed for decision in session.decisions.front})
    host.unscoped_questions.show_listed()


def _choose(host: Host, decision: Decision, choice: str, args: Args) -> None:
    option = decision.option(choice)
    if decision.subject == "elicitation":
        host.run(
            "answer_form",
            {"id": decision.id, "choice": choice, "content": args.get("content")},
        )
    elif option is None:
        host.echo(
            "error",
            wording.NO_OPTION.format(
                what=wording.PART_OPTION.format(number=choice), options=_option_ids(decision)
            ),
        )
    else:
        _resolve(host, decision, option, args)


def _resolve(host: Host, decision: Decision, option: Option, args: Args) -> None:
    """Answer a permission. If it is allowed, use the proposed edits as amended by the user."""
    session, texts = session_asking(host, decision), args.get("amended")
    if session is not None and isinstance(texts, dict) and option.kind.startswith("allow"):
        host.proposed.on_answer(session, decision, texts)
    decision.resolve(Outcome("selected", option))


@verb("propose")
async def propose(host: Host, args: Args) -> None:
    """Show the files that a requested call would write."""
    decision_id = args.get("id") or _oldest_with_edits(host)
    if decision_id is None:
        host.echo("info", wording.NO_EDITS)
        return
    decision = find_question(host, decision_id)
    session = session_asking(host, decision) if decision is not None else None
    if decision is None or session is None:
        host.echo("warn", wording.QUESTION_OVER)
        return
    sources = proposal_sources(session, decision)
    proposals = await host.proposed.show(session, decision)
    if decision.outcome is not None:
        return
    if has_other_sources(session, decision, sources):  # the card shows another edit, with a new id
        host.run("propose", {"id": decision.id})
        return
    for proposal in proposals:
        if not proposal.is_whole:
            file, why = Path(proposal.path).name, proposal.problem
            line = wording.NOTE if why else words.ONLY_A_PIECE
            host.echo("warn", line.format(file=file, note=why))
    options = [{"id": o.id, "name": o.name, "kind": o.kind} for o in decision.options]
    files = [{**proposal_table(p), "marks": diagnostic_marks(decision, p)} for p in proposals]
    host.screen.push("propose", decision.id, files, options)


def _oldest_with_edits(host: Host) -> str | None:
    asked = ((session, d) for session in host.session_list.all() for d in session.decisions)
    return next((d.id for session, d in asked if has_edits(session, d)), None)


def _option_ids(decision: Decision) -> str:
    ids = [option.id for option in decision.options[:MAX_NAMED]]
    more = len(decision.options) - len(ids)
    return ", ".join([*ids, *([wording.PART_MORE.format(count=more)] if more else [])]) or "none"


@verb("allow")
def allow(host: Host, args: Args) -> None:
    """Answer the question that the user has seen (`id`).

    Without an option, choose the first of kind allow_once.
    """
    _decide(host, args, "allow_once")


@verb("deny")
def deny(host: Host, args: Args) -> None:
    """Answer the question that the user has seen (`id`).

    Without an option, choose the first of kind reject_once, or decline a form or an address.
    """
    _decide(host, args, "reject_once")


def _decide(host: Host, args: Args, kind: str) -> None:
    decision = pending_question(host, args)
    if decision is None:
        return
    if args.get("option"):
        _choose(host, decision, str(args["option"]), args)
    elif decision.subject == "elicitation":
        _decide_elicitation(host, decision, args, kind)
    elif (option := decision.first(kind)) is None and decision.has_choices:
        answers = [choice.id for choice in decision.options if choice.kind == CHOICE]
        host.echo("warn", words.CHOOSE.format(options=" | ".join(answers)))
    elif option is None:
        what = wording.PART_KIND.format(kind=kind)
        host.echo("warn", wording.NO_OPTION.format(what=what, options=_option_ids(decision)))
    else:
        _resolve(host, decision, option, args)


def _decide_elicitation(host: Host, decision: Decision, args: Args, kind: str) -> None:
    """Decline an elicitation, or tell the user how to accept it, which requires values."""
    if kind == "reject_once":
        decision.resolve(Outcome("decline"))
    elif args.get("form"):
        host.echo("info", words.FILL_IN)
    elif decision.kind == "url":
        host.echo("info", words.SEE_ADDRESS)
    else:
        host.echo("info", words.SEE_FORM)
