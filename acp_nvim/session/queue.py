"""Queued prompts of a session, in order. Some may be sent while the rest is held.

A cancel holds the queued prompts until the user releases them. Prompts written after that are sent
in order and pass the held ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


def add(session: Session, prompt: Prompt) -> int:
    """Append a prompt. Return the number of held prompts that it passes."""
    session.held = session.held and bool(session.queue)
    prompt.passes_held = session.held
    passed = sum(not waiting.passes_held for waiting in session.queue) if session.held else 0
    session.queue.append(prompt)
    session.change("queue")
    return passed


def replace(session: Session, prompts: Sequence[Prompt]) -> None:
    session.queue[:] = prompts
    session.change("queue")


def hold_first(session: Session, prompts: Sequence[Prompt], at: int = 0) -> None:
    """Put these prompts first, or at a position, and hold them until `release`.

    Other prompts that are not held remain sendable.
    """
    for prompt in session.queue:
        prompt.passes_held = prompt.passes_held or not session.held
    session.held = True
    for prompt in prompts:
        prompt.passes_held = False
    replace(session, [*session.queue[:at], *prompts, *session.queue[at:]])


def hold_returned(session: Session, prompt: Prompt) -> None:
    """Hold a prompt that the agent did not insert, behind the ones that it returned earlier."""
    hold_first(session, [prompt], _place_of_returned(session, prompt))


def prepend(session: Session, prompt: Prompt, at: int = 0) -> None:
    """Put a prompt first, or at a position. It may be sent even while others are held."""
    prompt.passes_held = session.held
    replace(session, [*session.queue[:at], prompt, *session.queue[at:]])


def prepend_returned(session: Session, prompt: Prompt) -> None:
    """Put a refused prompt first, but behind the ones that the agent returned earlier."""
    prepend(session, prompt, _place_of_returned(session, prompt))


def _place_of_returned(session: Session, prompt: Prompt) -> int:
    prompt.is_returned = True
    waiting = enumerate(session.queue)
    return next((n for n, other in waiting if not other.is_returned), len(session.queue))


def _forget_returns(session: Session, sent: Prompt) -> None:
    """Forget which prompts were returned, before the returned prompt `sent` is sent again.

    If the agent returns `sent` again, `sent` goes before the other prompts.
    """
    if sent.is_returned:
        for prompt in (sent, *session.queue):
            prompt.is_returned = False


def add_reason(session: Session, prompt: Prompt) -> None:
    """Put the reason for an answer after earlier reasons and before all other prompts.

    It may be sent even while others are held.
    """
    prompt.passes_held = session.held
    waiting = session.queue
    at = next((i for i, other in enumerate(waiting) if not other.is_reason), len(waiting))
    replace(session, [*waiting[:at], prompt, *waiting[at:]])


def take_reasons(session: Session) -> list[Prompt]:
    """Remove and return the reasons that the agent has not received."""
    reasons = [prompt for prompt in (*session.at_agent, *session.queue) if prompt.is_reason]
    session.at_agent[:] = [prompt for prompt in session.at_agent if not prompt.is_reason]
    if reasons:
        replace(session, [prompt for prompt in session.queue if not prompt.is_reason])
    return reasons


def has_sendable(session: Session) -> bool:
    """Return whether there is a prompt that may be sent."""
    return next_prompt(session) is not None


def next_prompt(session: Session) -> Prompt | None:
    """Return the next prompt that may be sent. It stays in the queue until it is claimed."""
    return next((p for p in session.queue if p.passes_held or not session.held), None)


def claim(session: Session, prompt: Prompt) -> bool:
    """Remove a prompt to send it. Return False if it is held or no longer queued."""
    others = [waiting for waiting in session.queue if waiting is not prompt]
    if len(others) == len(session.queue) or (session.held and not prompt.passes_held):
        return False
    _forget_returns(session, prompt)
    replace(session, others)
    return True


def pop(session: Session) -> Prompt | None:
    """Remove and return the next prompt that may be sent."""
    prompt = next_prompt(session)
    if prompt is not None:
        claim(session, prompt)
    return prompt


def add_at_agent(session: Session, prompt: Prompt) -> None:
    """Add a prompt that was sent but not inserted yet (v2/prompt-lifecycle)."""
    _forget_returns(session, prompt)
    session.at_agent.append(prompt)
    session.change("queue")


def remove_at_agent(session: Session, prompt: Prompt) -> bool:
    """Remove a prompt that `add_at_agent` added. Return False if it is not there."""
    others = [other for other in session.at_agent if other is not prompt]
    if len(others) == len(session.at_agent):
        return False
    session.at_agent[:] = others
    session.change("queue")
    return True


def hold(session: Session) -> None:
    """Hold all prompts until `release`."""
    session.held = True
    for prompt in session.queue:
        prompt.passes_held = False


def release(session: Session) -> None:
    """Allow all prompts to be sent."""
    session.held = False
