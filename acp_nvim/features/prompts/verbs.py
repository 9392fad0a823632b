"""Verbs for prompts: send, cancel, the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from acp_nvim import wording
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.app import Host
from acp_nvim.features.prompts import words
from acp_nvim.host.prompting import conversation_for, is_empty, prompt_of, submit
from acp_nvim.session import queue as waiting
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args, verb

if TYPE_CHECKING:
    from acp_nvim.features.prompts.untyped_mentions import UntypedAttachments

MAX_PROMPTS = 500
"""Maximum number of earlier prompts that are sent to a composer."""


@verb("prompt")
def prompt(host: Host, args: Args) -> None:
    """Send a prompt, in a new session if there is none or the user wants one."""
    is_for_new = any(args.get(key) for key in ("new", "agent", "preset"))
    is_for_current = not is_for_new and _names_no_session(host, args)
    preparation = host.sessions.preparation if is_for_current else None
    if preparation is not None:
        preparation.add_prompt(partial(_on_prepared, host, args, prompt_of(host, args)))
    elif args.get("untyped"):
        host.tasks.start_soon(_ask_first, host, args)
    else:
        _send(host, args, prompt_of(host, args))


def _names_no_session(host: Host, args: Args) -> bool:
    """Return whether a verb is for the current session, or for the composer of a new one."""
    n = args.get("session")
    return n is None or host.sessions.conversation(int(n)) is None


def _on_prepared(host: Host, args: Args, prompt: Prompt, n: int | None) -> None:
    """Send a prompt to the prepared session `n`.

    If there is no session, return the prompt to the composer.
    """
    if n is not None:
        host.run("prompt", {**args, "session": n})
        return
    host.screen.push("taken", args.get("delivery"))
    composer = args.get("composer") or host.sessions.current
    _return_to_composer(host, composer, prompt, ())


async def _ask_first(host: Host, args: Args) -> None:
    """Before a prompt is sent, ask about the files in it that the user did not type."""
    from acp_nvim.features.prompts import untyped_mentions

    named = None if args.get("new") else host.sessions.conversation(args.get("session"))
    roots = named.session.roots if named is not None else [args["cwd"]]
    untyped = untyped_mentions.untyped_of(args["untyped"])
    answer, answered = await untyped_mentions.ask(host, untyped, args["cwd"], roots)
    prompt = prompt_of(host, args)
    untyped_mentions.apply(answer, answered, prompt)
    if answer != "not":
        _send(host, args, prompt)
        return
    host.screen.push("taken", args.get("delivery"))
    composer = args.get("composer") or (named.session.n if named is not None else None)
    _return_to_composer(host, composer, prompt, untyped.files)


def _return_to_composer(
    host: Host, composer: int | None, prompt: Prompt, mentioned: Sequence[str]
) -> None:
    """Put a prompt into a composer. The composer finds the files that the text mentions."""
    attached = [path for path in prompt.files() if path not in mentioned]
    host.screen.push("composer", composer, prompt.text, attached, prompt.ranges())


async def _ask_about_waiting(
    host: Host, session: Session, count: int | None, then: Callable[[], None]
) -> None:
    """Ask about untyped attachments of the first `count` waiting prompts, then call `then`.

    Prompts that the user does not want to send go back into the composer after the last question.
    Each is put in front of the composer's text, so the last one is first.
    """
    from acp_nvim.features.prompts import untyped_mentions

    refused: list[tuple[Prompt, UntypedAttachments, Sequence[str]]] = []
    for prompt in [prompt for prompt in session.queue[:count] if prompt.untyped is not None]:
        untyped = untyped_mentions.untyped_of(prompt.untyped)
        answer, answered = await untyped_mentions.ask(host, untyped, session.cwd, session.roots)
        if prompt.untyped is None or prompt not in session.queue:
            continue  # answered elsewhere or removed from the queue in the meantime
        if answer == "not":
            refused.append((prompt, answered, untyped.files))
        else:
            untyped_mentions.apply(answer, answered, prompt)
    for prompt, answered, files in reversed(refused):
        if prompt in session.queue:
            untyped_mentions.apply("not", answered, prompt)
            waiting.replace(session, [other for other in session.queue if other is not prompt])
            _return_to_composer(host, session.n, prompt, files)
    then()


def _call_after_questions(
    host: Host, session: Session, count: int | None, then: Callable[[], None]
) -> None:
    """Call `then`, or ask first if any of the first `count` waiting prompts has open questions."""
    if any(prompt.untyped is not None for prompt in session.queue[:count]):
        host.tasks.start_soon(_ask_about_waiting, host, session, count, then)
    else:
        then()


def _send(host: Host, args: Args, prompt: Prompt) -> None:
    host.screen.push("taken", args.get("delivery"))
    if is_empty(prompt):
        host.echo("warn", wording.PROMPT_EMPTY)
        return
    files = args.get("files") or {}
    if number := files.get("number"):
        host.nvim.buffers.expect_turn(int(files["session"]), int(number))
    conversation = conversation_for(host, args)
    if args.get("now"):
        _send_now(host, conversation, prompt)
    else:
        submit(host, conversation, prompt)
    if host.settings().chat.open:
        host.screen.push("open_chat", conversation.session.n, args.get("instead"))


def _send_now(host: Host, conversation: Conversation, prompt: Prompt) -> None:
    """Send a prompt before all waiting ones.

    If the agent accepts prompts during a turn, add it to the turn. Otherwise cancel the turn first.
    """
    if conversation.can_add_prompts:
        conversation.add(prompt)
        host.echo("info", words.ADDED)
        return
    conversation.cancel(holds_queue=False)
    conversation.send_first(prompt)


@verb("send")
def send(host: Host, args: Args) -> None:
    """Send the first waiting prompt now."""
    conversation = host.sessions.conversation(args.get("session"))
    prompts = conversation.session.queue if conversation is not None else []
    if conversation is None or not prompts:
        host.echo("info", words.NOTHING_TO_SEND)
        return
    first = prompts[0]

    def send_first() -> None:
        if first in conversation.session.queue:
            others = [prompt for prompt in conversation.session.queue if prompt is not first]
            waiting.replace(conversation.session, others)
            _send_now(host, conversation, first)

    _call_after_questions(host, conversation.session, 1, send_first)


@verb("begin")
def begin(host: Host, args: Args) -> None:
    """Start agent and session when the composer of a new session is opened.

    If the number belongs to a closed session, for example from an earlier Neovim, the composer gets
    the number of the new session.
    """
    n = int(args["n"])
    if _is_open(host, n):
        return
    preparation = host.sessions.preparation
    if preparation is not None:
        preparation.add_composer(partial(_on_prepared_for_composer, host, args))
        return
    conversation = host.sessions.new(args["cwd"], n=n)
    if conversation.session.n != n:
        host.screen.push("composer_moves", n, conversation.session.n)
    conversation.open()


def _is_open(host: Host, n: int) -> bool:
    known = host.sessions.conversations.get(n)
    return known is not None and known.session.status != "closed"


def _on_prepared_for_composer(host: Host, args: Args, n: int | None) -> None:
    """Move a composer to the prepared session `n`. If there is no session, begin one for it.

    The composer is not moved if its number belongs to another open session by now.
    """
    number = int(args["n"])
    if n is None:
        host.run("begin", args)
    elif n != number and not _is_open(host, number):
        host.screen.push("composer_moves", number, n)


@verb("cancel")
def cancel(host: Host, args: Args) -> None:
    """Cancel the running turn. With `clear`, also empty the queue.

    If prompts are waiting for a session being prepared, return them to their composers instead.
    """
    conversation = host.sessions.conversation(args.get("session"))
    child = host.subagents.get(args.get("session"))
    if child is not None and conversation is not None:
        host.echo("info", host.subagents.cancel(child, conversation))
        return
    preparation = host.sessions.preparation if _names_no_session(host, args) else None
    if preparation is not None and preparation.withdraw_prompts():
        return
    if conversation is not None:
        _cancel_turn(host, conversation, clear=bool(args.get("clear")))
    elif not (_dismiss(host, None) or _cancel_login(host)):
        _report_nothing_to_cancel(host)


def _cancel_turn(host: Host, conversation: Conversation, *, clear: bool) -> None:
    """Cancel the running turn or, if there is none, other work of the session. Hold its queue."""
    session = conversation.session
    was_cancelling = session.status == "cancelling"
    ends_turn = conversation.cancel()
    ends_questions = not ends_turn and _dismiss(host, conversation)
    has_ended = host.observers.stop_work(session) or ends_turn or ends_questions
    ends_login = not has_ended and _cancel_login(host)  # reports its own message
    is_held = not (ends_turn or ends_login) and conversation.hold()
    is_cleared = clear and _clear_queue(conversation)
    if is_cleared and (was_cancelling or not ends_turn):
        host.echo("info", words.QUEUE_CLEARED)
    elif was_cancelling:
        host.echo("info", words.CANCELLING)
    elif is_held or (ends_turn and session.queue):
        _report_held(host, len(session.queue))
    elif not (has_ended or ends_login):
        _report_nothing_to_cancel(host)


def _report_held(host: Host, count: int) -> None:
    """Tell the user that prompts are on hold."""
    text = words.ONE_ON_HOLD if count == 1 else words.ON_HOLD
    host.echo("info", text.format(count=count))


def _report_nothing_to_cancel(host: Host) -> None:
    others = host.sessions.conversations.values()
    is_one_running = any(other.session.status == "running" for other in others)
    host.echo("info", words.OTHERS_RUN if is_one_running else words.NOTHING_TO_CANCEL)


def _dismiss(host: Host, conversation: Conversation | None) -> bool:
    """Cancel questions outside of a turn, for example of a login. Return whether there were any."""
    asked = [host.unscoped_questions.decisions]
    if conversation is not None:
        asked.append(conversation.session.decisions)
    dismissed = [decisions.cancel_all("cancel") for decisions in asked]
    return any(dismissed)


def _cancel_login(host: Host) -> bool:
    """Cancel pending logins. Return False if there are none."""
    cancelled = [
        connection for connection in host.agents.connections.values() if connection.login.cancel()
    ]
    for connection in cancelled:
        host.echo("info", words.LOGIN_CANCELLED.format(agent=connection.title))
    return bool(cancelled)


def _clear_queue(conversation: Conversation) -> bool:
    session = conversation.session
    was_filled = bool(session.queue or session.at_agent)
    waiting.replace(session, ())
    conversation.recall()
    return was_filled


@verb("queue")
def queue(host: Host, args: Args) -> None:
    """Replace, hold, run or drop the waiting prompts."""
    if args.get("action") == "hold":
        _queue_on_hold(host, args)
        return
    conversation = host.sessions.conversation(args.get("session"))
    if conversation is None:
        host.echo("info", wording.NO_SESSION)
        return
    match args.get("action"):
        case "run" if not conversation.session.queue:
            host.echo("info", words.QUEUE_EMPTY)
        case "run":
            _call_after_questions(host, conversation.session, None, conversation.run_queue)
        case "clear":
            was_filled = _clear_queue(conversation)
            host.echo("info", words.QUEUE_CLEARED if was_filled else words.QUEUE_EMPTY)
        case "set":
            _set_queue(conversation, args.get("texts") or [], args.get("shown") or [])


def _queue_on_hold(host: Host, args: Args) -> None:
    """Put prompts from an earlier Neovim into the queue of a session, on hold."""
    conversation = host.sessions.conversation(args.get("session"))
    if conversation is None:
        conversation = host.sessions.new(args["prompts"][0]["cwd"])
        if host.settings().chat.open:
            host.screen.push("open_chat", conversation.session.n)
    prompts = [prompt_of(host, prompt) for prompt in args["prompts"]]
    waiting.hold_first(conversation.session, prompts)
    for prompt in prompts:
        host.screen.push("taken", prompt.delivery)


def _set_queue(conversation: Conversation, texts: list[str], shown: list[str]) -> None:
    """Replace the `shown` prompts of the queue with `texts`, as edited by the user.

    Newer prompts stay at the end. Prompts that were sent in the meantime are not queued again. A
    prompt with unchanged text keeps its attachments. Prompts that the agent already has come first
    in `shown`. If the user removed one of these, it is withdrawn from the agent.
    """
    known = Counter(map(str.strip, shown))
    for prompt in list(conversation.session.at_agent):
        label = prompt.label.strip()
        was_shown = _remove_label(known, label)
        if label in (text.strip() for text in texts):
            texts = [text for text in texts if text.strip() != label]
        elif was_shown:
            conversation.recall(prompt)
    before: list[Prompt] = []
    fresh: list[Prompt] = []
    for prompt in conversation.session.queue:
        (before if _remove_label(known, prompt.label.strip()) else fresh).append(prompt)
    after: list[Prompt] = []
    for text in texts:
        same = next((item for item in before if item.label.strip() == text.strip()), None)
        if same is not None:
            before.remove(same)
            after.append(same)
        elif not _remove_label(known, text.strip()):
            after.append(Prompt(text))
    waiting.replace(conversation.session, [*after, *fresh])


def _remove_label(known: Counter[str], label: str) -> bool:
    """Remove a label from a counter. Return whether it was there."""
    is_known = known[label] > 0
    known[label] -= is_known
    return is_known


@verb("prompts")
async def prompts(host: Host, args: Args) -> None:
    """Send the earlier prompts of all Neovims to the composer."""
    texts = (
        await host.transcripts.ask("prompts", MAX_PROMPTS, silent=True)
        if host.transcripts.enabled
        else []
    )
    host.screen.push("prompts", texts or [])
