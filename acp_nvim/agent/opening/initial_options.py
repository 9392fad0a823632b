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
from acp_nvim.agent.settings import AgentSettings, PresetSettings, with_preset
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
    model: str | None = None


def configured_options(spec: AgentSettings, preset: PresetSettings) -> InitialOptions:
    """Return the values for a new session of an agent with a preset."""
    merged = with_preset(spec, preset)
    return InitialOptions(merged.mode, merged.options, model=preset.model)


def chosen_options(session: Session) -> InitialOptions:
    values = {option.id: option.current_value for option in options.available(session)}
    return InitialOptions(_mode(session), values, named=False)


def _mode(session: Session) -> str | None:
    modes = options.modes(session)
    return modes.current_mode_id if modes else None


async def apply(agent: Agent, session: Session, initial: InitialOptions) -> dict[str, str]:
    """Set the mode, the model and the options that differ from those in force.

    Return those that could not be set, each with a line for the user.
    """
    problems: dict[str, str] = {}
    if initial.mode is not None and initial.mode != _mode(session):
        asked = choices.set_mode(session, agent, initial.mode)
        problems |= await _problems(asked, f"mode {initial.mode}", initial.named)
    # The values of an option may depend on the model, and the models on the provider.
    is_late = not options.has_model_value(session, initial.model)
    if not is_late:
        problems |= await _set_model(agent, session, initial)
    for option_id, value in initial.options.items():
        if chosen_options(session).options.get(option_id) != value:
            asked = choices.set_option(session, agent, option_id, value)
            problems |= await _problems(asked, f"option {option_id} = {value}", initial.named)
    if is_late:
        problems |= await _set_model(agent, session, initial)
    return problems


async def _set_model(agent: Agent, session: Session, initial: InitialOptions) -> dict[str, str]:
    if initial.model is None:
        return {}
    option = options.model(session)
    what = f"model {initial.model}"
    if option is None:
        return {what: wording.CANNOT_SET.format(what=what, reason=wording.WHY_NO_MODELS)}
    if option.current_value == initial.model:
        return {}
    asked = choices.set_option(session, agent, option.id, initial.model)
    return await _problems(asked, what, initial.named)


async def _problems(asked: Awaitable[None], what: str, named: bool) -> dict[str, str]:
    try:
        await asked
    except NoSuchChoice as error:
        return {what: wording.CANNOT_SET.format(what=what, reason=error)} if named else {}
    except (RequestError, RemoteProtocolError) as error:
        return {what: wording.CANNOT_SET.format(what=what, reason=error)}
    return {}
