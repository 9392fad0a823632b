"""Verbs for refusals with a reason."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.app import Host
from acp_nvim.host.questions import find_question, session_asking
from acp_nvim.protocol.errors import ProtocolError, RequestError
from acp_nvim.session import queue
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Outcome
from acp_nvim.verbs import Args, verb

KIND = "reject_once"


@verb("refuse")
def refuse(host: Host, args: Args) -> None:
    """Refuse the question that the user has seen (`id`) with its first option of kind reject_once.

    If the question is over, has no such option, or is not the agent's, the reason goes into the
    composer of its session.
    """
    decision, reason = find_question(host, args["id"]), str(args["reason"])
    if decision is None:
        host.echo("warn", wording.QUESTION_OVER)
        host.screen.push("composer", args.get("session"), reason, [], [])
    elif (option := decision.first(KIND)) is None:
        what = wording.PART_KIND.format(kind=KIND)
        _no_option(host, decision, what)
        host.screen.push("composer", args.get("session"), reason, [], [])
    else:
        _answer(host, decision, Outcome("selected", option), reason)


@verb("explain")
def explain(host: Host, args: Args) -> None:
    """Answer the question with this id, with any option and a reason (Lua's `answer()`).

    Without an option the question is cancelled.
    """
    decision, choice = find_question(host, args["id"]), args.get("option")
    if decision is None:
        host.echo("warn", wording.NO_QUESTION.format(id=args["id"]))
        return
    option = None if choice is None else decision.option(str(choice))
    if choice is not None and option is None:
        _no_option(host, decision, wording.PART_OPTION.format(number=choice))
        return
    outcome = CANCELLED if option is None else Outcome("selected", option)
    _answer(host, decision, outcome, str(args["reason"]))


def _no_option(host: Host, decision: Decision, what: str) -> None:
    options = ", ".join(option.id for option in decision.options) or "none"
    host.echo("warn", wording.NO_OPTION.format(what=what, options=options))


def _answer(host: Host, decision: Decision, outcome: Outcome, reason: str) -> None:
    """Answer a question and send the reason to the agent that asks."""
    conversation = _conversation(host, decision)
    if conversation is None or decision.subject == "consent":
        host.echo("warn", wording.NO_AGENT_WAITS)
        session = session_asking(host, decision)
        host.screen.push("composer", session.n if session else None, reason, [], [])
        return
    reason = reason.strip()
    decision.set_reason(reason)
    decision.resolve(outcome)
    if reason:
        _send(host, conversation, Prompt(reason, is_reason=True))


def _conversation(host: Host, decision: Decision) -> Conversation | None:
    session = session_asking(host, decision)
    return None if session is None else host.sessions.conversations.get(session.root.n)


def _send(host: Host, conversation: Conversation, prompt: Prompt) -> None:
    """Send a reason: into the running turn if the agent supports that, else as the next prompt."""
    connection = conversation.connection
    if conversation.can_add_prompts:
        conversation.add(prompt)
    elif conversation.session.in_turn and connection is not None and connection.agent.can_steer:
        queue.add_at_agent(conversation.session, prompt)
        host.verbs.spawn("refuse", steer(conversation, prompt))
    else:
        conversation.send_reason(prompt)


async def steer(conversation: Conversation, prompt: Prompt) -> None:
    """Insert a reason into the running turn. Send it as the next prompt if that fails.

    If the connection is lost before the answer, the reason may have arrived, so it is held.
    """
    session, connection = conversation.session, conversation.connection
    assert connection is not None
    try:
        is_inserted = await connection.agent.steer(session.id, prompt.text)
    except (RequestError, ProtocolError):
        is_inserted = False
    except ConnectionClosed:
        await connection.wait_ended()  # an exit returns the reason, a reconnect does not
        if queue.remove_at_agent(session, prompt):
            queue.hold_first(session, [prompt])
            session.notice("info", wording.ONE_UNSURE)
        return
    if queue.remove_at_agent(session, prompt) and not is_inserted:
        conversation.send_reason(prompt)
