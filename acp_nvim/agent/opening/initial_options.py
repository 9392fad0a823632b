"""Mode and config options of a newly opened session.

They are the configured defaults of the agent, or the choices from before its process was replaced
(v1/session-config-options, v1/session-modes).
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

    If they come from the user's configuration (`is_configured`), missing ones are reported.
    """

    mode: str | None = None
    options: dict[str, Value] = field(default_factory=dict)
    is_configured: bool = True
    model: str | None = None


def configured_options(spec: AgentSettings, preset: PresetSettings) -> InitialOptions:
    """Return the values for a new session of an agent with a preset."""
    merged = with_preset(spec, preset)
    return InitialOptions(merged.mode, merged.options, model=preset.model)


def chosen_options(session: Session) -> InitialOptions:
    values = {option.id: option.current_value for option in options.available(session)}
    return InitialOptions(_mode(session), values, is_configured=False)


def _mode(session: Session) -> str | None:
    modes = options.modes(session)
    return modes.current_mode_id if modes else None


async def apply(agent: Agent, session: Session, initial: InitialOptions) -> dict[str, str]:
    """Set the mode, the model and the options that differ from the current ones.

    Return a line for the user for each one that could not be set.
    """
    problems: dict[str, str] = {}
    if initial.mode is not None and initial.mode != _mode(session):
        request = choices.set_mode(session, agent, initial.mode)
        problems |= await _problems(request, f"mode {initial.mode}", initial.is_configured)
    # The values of an option may depend on the model. The models may depend on the provider.
    is_late = not options.has_model_value(session, initial.model)
    if not is_late:
        problems |= await _set_model(agent, session, initial)
    for option_id, value in initial.options.items():
        if chosen_options(session).options.get(option_id) != value:
            request = choices.set_option(session, agent, option_id, value)
            text = str(value).lower() if isinstance(value, bool) else value  # in Lua's spelling
            what = f"option {option_id} = {text}"
            problems |= await _problems(request, what, initial.is_configured)
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
    request = choices.set_option(session, agent, option.id, initial.model)
    return await _problems(request, what, initial.is_configured)


async def _problems(request: Awaitable[None], what: str, is_configured: bool) -> dict[str, str]:
    try:
        await request
    except NoSuchChoice as error:
        return {what: wording.CANNOT_SET.format(what=what, reason=error)} if is_configured else {}
    except (RequestError, RemoteProtocolError) as error:
        return {what: wording.CANNOT_SET.format(what=what, reason=error)}
    return {}
