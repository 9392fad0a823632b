"""Changes to modes and options (v1/session-modes, v1/session-config-options).

A change is shown at once, and reverted if the agent refuses.
"""

from __future__ import annotations

from acp_nvim.agent.agent import Agent
from acp_nvim.session import options
from acp_nvim.session.options import Value
from acp_nvim.session.session import Session


async def set_mode(session: Session, agent: Agent, mode_id: str) -> None:
    """Switch the mode, through its config option if there is one.

    Raise `NoSuchChoice` before sending, or the agent's error after showing the previous mode again.
    The answer confirms the mode, even if no update follows.
    """
    options.check_mode(session, mode_id)
    option = options.mode_option(session, mode_id)
    if option is not None:
        await set_option(session, agent, option.id, mode_id)
        return
    before, session.mode = session.mode, mode_id
    session.change("modes")
    try:
        await agent.set_mode(session.id, mode_id)
    except Exception:
        if session.mode == mode_id:
            session.mode = before
            session.change("modes")
        raise


async def set_option(session: Session, agent: Agent, option_id: str, value: Value) -> None:
    """Set a config option, or the model of an older agent. The agent's answer is the new list.

    Raise the errors of `set_mode`.
    """
    option = options.find(session, option_id)
    value = options.check(option, value)
    before = option.current_value
    session.options_set += 1
    number = session.options_set
    options.set_value(session, option_id, value)
    try:
        if options.is_models_option(session, option_id):
            await agent.set_model(session.id, str(value))
            return
        new_options = await agent.set_config_option(session.id, option_id, value)
    except Exception:
        _revert_value(session, option_id, value, before)
        raise
    # An empty answer confirms the value. Answers may not arrive in the order of the requests.
    if new_options and number > session.options_answered:
        session.options_answered = number
        options.replace(session, new_options)


def _revert_value(session: Session, option_id: str, value: Value, before: Value) -> None:
    """Show the previous value again, unless another value has been set in the meantime."""
    current = next((o for o in options.available(session) if o.id == option_id), None)
    if current is not None and current.current_value == value:
        options.set_value(session, option_id, before)
