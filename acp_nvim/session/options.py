"""The user's choices in a session: modes, config options, and the models of the older API.

Those models appear as a config option here (v1/session-modes, v1/session-config-options).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.session import lists

if TYPE_CHECKING:
    from acp_nvim.session.session import Session

Value = str | bool
Option = schema.SessionConfigSelect | schema.SessionConfigBoolean

MODELS = "model"
"""Id of the option for the older `models`, unless the agent has an option with that id."""


class NoSuchChoice(ValueError):
    """The requested choice does not exist. The message names the existing ones."""


def apply_result(session: Session, result: Any) -> None:
    """Apply the modes, options and models in the answer that opened a session.

    Null leaves the values of earlier updates unchanged.
    """
    if result.modes:
        modes = session.limit_list("modes", result.modes.available_modes)
        session.modes = msgspec.structs.replace(result.modes, available_modes=list(modes))
        session.mode = result.modes.current_mode_id
    if result.config_options:
        session.options = within_limits(session, result.config_options)
    if result.models:
        models = session.limit_list("models", result.models.available_models)
        session.models = msgspec.structs.replace(result.models, available_models=list(models))
    session.change("modes", "options")


def within_limits(session: Session, listed: Sequence[Any]) -> tuple[Any, ...]:
    """Return the options and their values within the limits of `lists`."""
    return tuple(
        _limit_values(session, option)
        if isinstance(option, schema.SessionConfigSelect) and len(option.options) > lists.LISTED
        else option
        for option in session.limit_list("options", listed)
    )


def _limit_values(
    session: Session, option: schema.SessionConfigSelect
) -> schema.SessionConfigSelect:
    values = session.limit_list(f"options.{option.id}", option.options)
    return msgspec.structs.replace(option, options=list(values))


class Choices(msgspec.Struct, frozen=True):
    """Choices in a session at one moment."""

    mode: str | None
    options: Sequence[Any]
    models: schema.SessionModelState | None


def current_choices(session: Session) -> Choices:
    return Choices(session.mode, session.options, session.models)


def restore_choices(session: Session, result: Any, before: Choices, first: Choices) -> None:
    """Restore the choices of `first` after another process opened the session.

    This applies to values that the answer lacks and that no update has changed since `before`.
    """
    if not result.modes and session.mode == before.mode:
        session.mode = first.mode
    if not result.config_options and session.options is before.options:
        session.options = first.options
    if not result.models and session.models is before.models:
        session.models = first.models
    session.change("modes", "options")


def available(session: Session) -> list[Option]:
    """Return the options that can be shown, in the agent's order.

    Unknown types are ignored (v1/session-config-options).
    """
    known = [
        option
        for option in session.options
        if isinstance(option, schema.SessionConfigSelect | schema.SessionConfigBoolean)
    ]
    models = session.models
    if models is None or any(o.id == MODELS or o.category == "model" for o in known):
        return known
    return [*known, _option_of_models(models)]


def _option_of_models(models: schema.SessionModelState) -> schema.SessionConfigSelect:
    """Return the older `models` as an option."""
    items: list[schema.SessionConfigSelectItem] = [
        schema.SessionConfigSelectOption(model.model_id, model.name, model.description)
        for model in models.available_models
    ]
    return schema.SessionConfigSelect(
        id=MODELS,
        name="Model",
        category="model",
        current_value=models.current_model_id,
        options=items,
    )


def is_models_option(session: Session, option_id: str) -> bool:
    return option_id == MODELS and all(option.id != MODELS for option in session.options)


def find(session: Session, option_id: str) -> Option:
    """Return an option by its id. Raise `NoSuchChoice`."""
    known = available(session)
    option = next((option for option in known if option.id == option_id), None)
    if option is None:
        ids = ", ".join(option.id for option in known) or "none"
        raise NoSuchChoice(wording.WHY_NO_OPTION.format(option=option_id, options=ids))
    return option


def preferred_mode_option(session: Session) -> Option | None:
    """Return the first option of the category mode, which is the agent's preferred one."""
    return next((o for o in available(session) if o.category == "mode"), None)


def replace(session: Session, listed: Sequence[Any]) -> None:
    """Replace all config options.

    An option of the category model whose values have changed is recorded as dependent on another
    option, such as the provider.
    """
    before = {option.id: _offered_values(option) for option in _models(session)}
    session.options = within_limits(session, listed)
    for option in _models(session):
        if before.get(option.id, _offered_values(option)) != _offered_values(option):
            session.dependent_options.add(option.id)
    session.change("modes", "options")


def model(session: Session) -> schema.SessionConfigSelect | None:
    """Return the option that chooses the model.

    Some agents put other options, such as the provider, into the same category. The model is then
    the option with the id `model`, else one that depends on another, else one with that name.
    """
    return _choose_model(_models(session), session.dependent_options)


def _choose_model(
    models: Sequence[schema.SessionConfigSelect], dependent: Container[str]
) -> schema.SessionConfigSelect | None:
    for is_chosen in (
        lambda option: option.id == MODELS,
        lambda option: option.id in dependent,
        lambda option: option.name.strip().lower() == MODELS,
    ):
        if chosen := next(filter(is_chosen, models), None):
            return chosen
    return models[0] if models else None


def has_model_value(session: Session, value: str | None) -> bool:
    option = model(session)
    return option is not None and any(item.value == value for item in values(option))


def model_value(session: Session) -> dict[str, str] | None:
    """Return `{option, value, name}` of the option that chooses the model."""
    option = model(session)
    if option is None:
        return None
    return {"option": option.id, "value": option.current_value, "name": _name(option)}


def model_name_in(listed: Iterable[Any]) -> str:
    """Return the name of the model in these options, or an empty string."""
    option = _choose_model(list(filter(_is_model, listed)), ())
    return _name(option) if option is not None else ""


def _name(option: schema.SessionConfigSelect) -> str:
    value = option.current_value
    return next((item.name for item in values(option) if item.value == value), value)


def _models(session: Session) -> list[schema.SessionConfigSelect]:
    return list(filter(_is_model, available(session)))


def _is_model(option: Any) -> TypeGuard[schema.SessionConfigSelect]:
    return isinstance(option, schema.SessionConfigSelect) and MODELS in (option.category, option.id)


def _offered_values(option: schema.SessionConfigSelect) -> set[str]:
    return {item.value for item in values(option)}


def values(option: Option) -> Iterator[schema.SessionConfigSelectOption]:
    """Yield the values of a select, including those in groups. A switch has none."""
    if isinstance(option, schema.SessionConfigBoolean):
        return
    for item in option.options:
        if isinstance(item, schema.SessionConfigSelectGroup):
            yield from item.options
        elif isinstance(item, schema.SessionConfigSelectOption):
            yield item


def check(option: Option, value: Value) -> Value:
    """Return the value for the wire. Raise `NoSuchChoice` if the value is not offered."""
    if isinstance(option, schema.SessionConfigBoolean):
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        raise NoSuchChoice(wording.WHY_NO_SWITCH.format(option=option.id, value=value))
    offered = [item.value for item in values(option)]
    if value not in offered:
        raise NoSuchChoice(
            wording.WHY_NO_VALUE.format(option=option.id, value=value, values=", ".join(offered))
        )
    return value


def set_value(session: Session, option_id: str, value: Value) -> None:
    """Set the shown value of an option. Nothing is sent to the agent."""
    if is_models_option(session, option_id):
        if session.models is not None:
            session.models = msgspec.structs.replace(session.models, current_model_id=value)
    else:
        session.options = tuple(_with_value(session.options, option_id, value))
    session.change("options", "modes")


def describe_option(session: Session, option_id: str) -> str | None:
    """Return name and value of an option for the user, or None if the option no longer exists."""
    option = next((option for option in available(session) if option.id == option_id), None)
    if option is None:
        return None
    if isinstance(option, schema.SessionConfigBoolean):
        return f"{option.name}: {'on' if option.current_value else 'off'}"
    names = {item.value: item.name for item in values(option)}
    return f"{option.name}: {names.get(option.current_value) or option.current_value}"


def _with_value(options: Iterable[Any], option_id: str, value: Value) -> Iterator[Any]:
    for option in options:
        is_known = isinstance(option, schema.SessionConfigSelect | schema.SessionConfigBoolean)
        if is_known and option.id == option_id:
            yield msgspec.structs.replace(option, current_value=value)
        else:
            yield option


# -- modes ----------------------------------------------------------------------------------------


def mode_option(session: Session, mode_id: str) -> Option | None:
    """Return the config option that sets this mode, or None if `session/set_mode` does.

    Config options take precedence over modes if an agent has both (v1/session-config-options).
    """
    option = preferred_mode_option(session)
    if option is None or mode_id not in [item.value for item in values(option)]:
        return None
    return option


def modes(session: Session) -> schema.SessionModeState | None:
    """Return the available modes, from the config option of that category if there is one."""
    option = preferred_mode_option(session)
    if isinstance(option, schema.SessionConfigSelect):
        listed = [
            schema.SessionMode(item.value, item.name, item.description) for item in values(option)
        ]
        return schema.SessionModeState(option.current_value, listed)
    if session.modes is None:
        return None
    return msgspec.structs.replace(
        session.modes, current_mode_id=session.mode or session.modes.current_mode_id
    )


def on_mode_changed(session: Session, mode_id: str) -> None:
    """Apply a mode that the agent has switched to."""
    session.mode = mode_id
    option = mode_option(session, mode_id)
    if option is not None:
        set_value(session, option.id, mode_id)
    session.change("modes")


def mode_text(session: Session) -> str | None:
    """Return the current mode for the user, or None if there are no modes."""
    known = modes(session)
    if known is None:
        return None
    names = {mode.id: mode.name for mode in known.available_modes}
    return f"Mode: {names.get(known.current_mode_id) or known.current_mode_id}"


def check_mode(session: Session, mode_id: str) -> None:
    known = modes(session)
    if known is None:
        raise NoSuchChoice(wording.WHY_NO_MODES)
    ids = [mode.id for mode in known.available_modes]
    if session.modes is not None:
        ids += [mode.id for mode in session.modes.available_modes if mode.id not in ids]
    if mode_id not in ids:
        raise NoSuchChoice(wording.WHY_NO_MODE.format(mode=mode_id, modes=", ".join(ids)))


def to_wire(options: Sequence[Option]) -> list[Any]:
    """Return options for the wire, without absent fields."""
    return [msgspec.to_builtins(option) for option in options]
