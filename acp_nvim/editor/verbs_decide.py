"""Verbs about decisions: answers to what an agent asks."""

from __future__ import annotations

from acp_nvim.editor import verbs_forms
from acp_nvim.editor.host import Host
from acp_nvim.editor.verbs import Args, verb
from acp_nvim.session.decisions import CANCELLED, Decision, Outcome


@verb("answer")
def answer(host: Host, args: Args) -> None:
    """Answer a pending decision by our id; no choice means cancelled."""
    decision = host.decision(str(args.get("id")))
    if decision is None:
        host.echo("warn", f"no pending decision {args.get('id')}")
        return
    choice = args.get("choice")
    if choice is None:
        decision.resolve(CANCELLED)
    elif decision.subject == "elicitation":
        verbs_forms.answer(host, decision, str(choice), args.get("content"))
    else:
        _choose(host, decision, str(choice))


def _choose(host: Host, decision: Decision, choice: str) -> None:
    option = decision.option(choice)
    if option is None:
        host.echo("error", f"no option {choice}; there are: {_names(decision)}")
    else:
        decision.resolve(Outcome("selected", option))


def _names(decision: Decision) -> str:
    return ", ".join(option.id for option in decision.options) or "none"


@verb("allow")
def allow(host: Host, args: Args) -> None:
    """Answer the oldest pending permission; without an option by the first of kind allow_once."""
    _decide(host, args, "allow_once")


@verb("deny")
def deny(host: Host, args: Args) -> None:
    """Answer the oldest pending permission; without an option by the first of kind reject_once."""
    _decide(host, args, "reject_once")


def _decide(host: Host, args: Args, kind: str) -> None:
    decision = _oldest(host, args.get("session"))
    if decision is None:
        host.echo("info", "no permission is pending")
        return
    if args.get("option"):
        _choose(host, decision, str(args["option"]))
        return
    option = decision.first(kind)
    if option is None:
        host.echo("warn", f"no option of kind {kind}; there are: {_names(decision)}")
        return
    decision.resolve(Outcome("selected", option))


def _oldest(host: Host, n: int | None) -> Decision | None:
    """Of the current session, of any if there is none."""
    first = host.conversation(n)
    order = [first] if first else []
    order += [c for c in host.conversations.values() if c is not first] if n is None else []
    for conversation in order:
        found = next(
            (d for d in conversation.session.decisions if d.subject != "elicitation"), None
        )
        if found is not None:
            return found
    return None
