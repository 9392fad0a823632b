"""Verbs for rules: list them, store one from a question, remove one."""

from __future__ import annotations

from collections.abc import Iterator

from acp_nvim import wording
from acp_nvim.agent.serving import project_rules
from acp_nvim.agent.serving.project_rules import ProjectRule
from acp_nvim.app import Host
from acp_nvim.features.rules import store, words
from acp_nvim.host.questions import find_question, session_asking
from acp_nvim.render.text import visible
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.questions.rules import Rule
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args, verb

KIND = "allow_always"


@verb("rules")
def rules(host: Host, args: Args) -> None:
    """Show the rules in force, in their order, with their origins."""
    conversation = host.sessions.conversation(args.get("session"))
    session = conversation.session if conversation is not None else None
    cwd = session.cwd if session is not None else str(args["cwd"])
    lines = [*_lines(host, session, cwd)] or [words.NO_RULES]
    host.screen.push("show", "acp://rules", "acprules", lines)


def _lines(host: Host, session: Session | None, cwd: str) -> Iterator[str]:
    settings = host.settings()
    if session is not None and session.preset is not None:
        for rule in settings.preset(session.preset).rules:
            yield _rule_line(
                _describe_rule(rule), words.PART_RULE_PRESET.format(preset=session.preset)
            )
    for rule in settings.permission.rules:
        yield _rule_line(_describe_rule(rule), words.PART_RULE_OPTION)
    for stored in store(host).of(cwd):
        yield _stored_rule_line(stored, cwd)
    if session is not None and session.trust is not None:
        yield _rule_line(f"allow {session.trust}", words.PART_RULE_TRUST)


def _rule_line(what: str, origin: str) -> str:
    return f"{visible(' '.join(what.split()))}  · {origin}"


def _stored_rule_line(rule: ProjectRule, cwd: str) -> str:
    return _rule_line(f"allow {rule.text(cwd)}", words.PART_RULE_PROJECT)


def _describe_rule(rule: Rule) -> str:
    """Return a rule of the options as one line: `deny command rm *, agent claude`."""
    parts: list[str] = []
    for name in ("kind", "path", "command", "agent"):
        value = getattr(rule, name)
        if value is not None:
            parts.append(f"{name} {value if isinstance(value, str) else ' | '.join(value)}")
    return f"{rule.action} {', '.join(parts) or 'everything'}"


@verb("offer_rule")
def offer_rule(host: Host, args: Args) -> None:
    """Offer a rule that always allows the action of a question in its project.

    `alone` means that the agent offers no option of kind allow_always. In this case, accepting the
    rule also allows the action once.
    """
    decision = find_question(host, args["id"])
    offer = None if decision is None else _rule(host, decision)
    if decision is None or offer is None:
        if decision is not None and args.get("alone"):
            options = ", ".join(option.id for option in decision.options) or "none"
            what = wording.PART_KIND.format(kind=KIND)
            host.echo("error", wording.NO_OPTION.format(what=what, options=options))
        return
    host.verbs.spawn("offer_rule", _offer(host, args, decision, *offer))


async def _offer(
    host: Host, args: Args, decision: Decision, session: Session, rule: ProjectRule
) -> None:
    offer = words.KEEP_RULE.format(action=rule.text(session.cwd))
    if await host.choose(offer, [words.OPTION_KEEP_RULE, words.OPTION_NO_RULE], "rule") != 0:
        return
    if args.get("alone"):
        option = decision.first("allow_once")
        if option is None or find_question(host, args["id"]) is not decision:
            host.echo("warn", wording.QUESTION_OVER)
            return
        host.run("choose", {**args, "option": option.id})
    store(host).add(session.cwd, rule)
    host.echo("info", words.RULE_STORED)


def _rule(host: Host, decision: Decision) -> tuple[Session, ProjectRule] | None:
    """Return the session of a question and the rule for exactly its action."""
    session = session_asking(host, decision)
    call = decision.shown_call
    if session is None or call is None:
        return None
    rule = project_rules.rule_of(session, decision, [call, *decision.covers], host.settings())
    return None if rule is None else (session, rule)


@verb("forget_rule")
def forget_rule(host: Host, args: Args) -> None:
    """Remove a stored rule, identified by its line in the list."""
    conversation = host.sessions.conversation(args.get("session"))
    cwd = conversation.session.cwd if conversation is not None else str(args["cwd"])
    stored = store(host)
    matches = [rule for rule in stored.of(cwd) if _stored_rule_line(rule, cwd) == args["line"]]
    if not matches:
        host.echo("info", words.RULE_NOT_REMOVABLE)
        return
    for rule in matches:
        stored.remove(cwd, rule)
    host.echo("info", words.RULE_REMOVED)
    rules(host, args)
