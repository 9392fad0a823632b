"""What the user's options mean for a connection: what it can do, and what of it is logged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast, get_args

from acp_nvim.agent.child.pty import AVAILABLE
from acp_nvim.agent.settings import AgentSettings, Settings
from acp_nvim.agent.wire.secret_names import secret_values
from acp_nvim.agent.wire.traffic_view import Level
from acp_nvim.protocol import schema

if TYPE_CHECKING:
    from acp_nvim.agent.elsewhere import Attempts

OURS = "acp.nvim"
"""Under this key of `_meta` we tell what goes beyond the protocol."""

_SECRET = re.compile(r"(?i)key|token|secret|passw|credential|auth")


def client_capabilities(settings: Settings, *, starts: bool = True) -> schema.ClientCapabilities:
    """Return the capabilities of this client (v1/initialization). ``starts``: the agent's own
    program is here, so it can be started to log in.
    """
    return schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
        terminal=settings.terminal.enabled and AVAILABLE,
        session=schema.ClientSessionCapabilities(
            config_options=schema.SessionConfigOptionsCapabilities(
                boolean=schema.BooleanConfigOptionCapabilities()
            ),
            notices=schema.NoticeCapabilities(),
            compaction=schema.CompactionCapabilities(),
            prompt_suggestions=schema.PromptSuggestionsCapabilities(),
        ),
        subagents=schema.SubagentCapabilities(),
        plan=schema.PlanCapabilities(),
        elicitation=schema.ElicitationCapabilities(
            form=schema.ElicitationFormCapabilities(), url=schema.ElicitationUrlCapabilities()
        ),
        auth=schema.AuthCapabilities(terminal=starts),
        meta={"terminal-auth": starts, "terminal_output": True, **_handled(settings)},
    )


def _handled(settings: Settings) -> dict[str, Any]:
    """Return the methods of agents' own that the user handles, for `_meta`."""
    names = sorted(settings.extensions)
    return {OURS: {"extensions": names}} if names else {}


def secrets(env: Mapping[str, str], spec: AgentSettings) -> list[str]:
    """Return the values that must not be in a log: those of variables named like a credential, of
    the user and of the agent.
    """
    configured = (value for key, value in spec.env.items() if _SECRET.search(key))
    return list(dict.fromkeys([*secret_values({**env, **spec.env}), *configured]))


def level(wanted: str) -> Level:
    """Return option `log.level` as a level of the traffic log, `info` for an unknown one."""
    return cast("Level", wanted) if wanted in get_args(Level) else "info"


def runs_here(spec: AgentSettings) -> bool:
    """Whether an agent runs on this machine, as far as its configuration tells."""
    if not spec.url:
        return True
    from acp_nvim.agent.transport.addresses import is_here

    return is_here(spec.url)


def attempts_at(spec: AgentSettings, pauses: Iterator[float] | None) -> Attempts | None:
    """Return the attempts to reach an agent elsewhere; None for one that is started here."""
    if not spec.url:
        return None
    from acp_nvim.agent.elsewhere import Attempts

    return Attempts(pauses)
