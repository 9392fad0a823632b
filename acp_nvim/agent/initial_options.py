"""Mode and config options that a session shall have once it is open: the agent's defaults of the
configuration, or what was chosen before its process was replaced (v1/session-config-options,
v1/session-modes).
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field

from acp_nvim.agent import choices
from acp_nvim.agent.agent import Agent
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError
from acp_nvim.session import options
from acp_nvim.session.options import NoSuchChoice, Value
from acp_nvim.session.session import Session


@dataclass(slots=True, frozen=True)
class InitialOptions:
    """`named`: a user wrote them down, so one that is not on offer is told."""

    mode: str | None = None
    options: dict[str, Value] = field(default_factory=dict)
    named: bool = True


def chosen(session: Session) -> InitialOptions:
    """What is in force in a session now."""
    values = {option.id: option.current_value for option in options.available(session)}
    return InitialOptions(_mode(session), values, named=False)


def _mode(session: Session) -> str | None:
    modes = options.modes(session)
    return modes.current_mode_id if modes else None


async def apply(agent: Agent, session: Session, initial: InitialOptions) -> list[str]:
    """Ask for what differs from what is in force, the mode first.

    Returns what could not be had, one line each.
    """
    problems: list[str] = []
    if initial.mode is not None and initial.mode != _mode(session):
        asked = choices.set_mode(session, agent, initial.mode)
        problems += await _had(asked, f"mode {initial.mode}", initial.named)
    for option_id, value in initial.options.items():
        if chosen(session).options.get(option_id) != value:
            asked = choices.set_option(session, agent, option_id, value)
            problems += await _had(asked, f"option {option_id} = {value}", initial.named)
    return problems


async def _had(asked: Awaitable[None], what: str, named: bool) -> list[str]:
    try:
        await asked
    except NoSuchChoice as error:
        return [f"{what} cannot be set: {error}"] if named else []
    except (RequestError, RemoteProtocolError) as error:
        return [f"{what} could not be set: {error}"]
    return []
