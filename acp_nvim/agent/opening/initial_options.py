"""Mode and config options of a newly opened session.

They are the configured defaults of the agent, or the choices in force before its process was
replaced (v1/session-config-options, v1/session-modes).
"""

from __future__ import annotations

from collections.abc import Awaitable

from msgspec import Struct, field

from acp_nvim import wording
from acp_nvim.agent import choices
from acp_nvim.agent.agent import Agent
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError
from acp_nvim.session import options
from acp_nvim.session.options import NoSuchChoice, Value
from acp_nvim.session.session import Session


class InitialOptions(Struct, frozen=True):
    """Mode and options to set.

    `named` is true if the user configured them; an option that the agent lacks is then reported.
    """

    mode: str | None = None
    options: dict[str, Value] = field(default_factory=dict)
    named: bool = True


def chosen(session: Session) -> InitialOptions:
    values = {option.id: option.current_value for option in options.available(session)}
    return InitialOptions(_mode(session), values, named=False)


def _mode(session: Session) -> str | None:
    modes = options.modes(session)
    return modes.current_mode_id if modes else None


async def apply(agent: Agent, session: Session, initial: InitialOptions) -> list[str]:
    """Set the mode, then the options, that differ from those in force.

    Return a line for each that could not be set.
    """
    problems: list[str] = []
    if initial.mode is not None and initial.mode != _mode(session):
        asked = choices.set_mode(session, agent, initial.mode)
        problems += await _problems(asked, f"mode {initial.mode}", initial.named)
    for option_id, value in initial.options.items():
        if chosen(session).options.get(option_id) != value:
            asked = choices.set_option(session, agent, option_id, value)
            problems += await _problems(asked, f"option {option_id} = {value}", initial.named)
    return problems


async def _problems(asked: Awaitable[None], what: str, named: bool) -> list[str]:
    try:
        await asked
    except NoSuchChoice as error:
        return [wording.CANNOT_SET.format(what=what, reason=error)] if named else []
    except (RequestError, RemoteProtocolError) as error:
        return [wording.CANNOT_SET.format(what=what, reason=error)]
    return []
