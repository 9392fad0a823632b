"""Effect of the user's options on a connection: capabilities and logging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast, get_args

from acp_nvim.agent.child.pty import AVAILABLE
from acp_nvim.agent.settings import AgentSettings, Settings
from acp_nvim.agent.wire.secret_names import secret_values
from acp_nvim.agent.wire.traffic_view import Level
from acp_nvim.patterns import late
from acp_nvim.protocol import schema

if TYPE_CHECKING:
    from acp_nvim.agent.remote_agents import Attempts

META_KEY = "acp.nvim"
"""Key of `_meta` for the client's additions to the protocol."""

_SECRET = late(r"(?i)key|token|secret|passw|credential|auth")


def client_capabilities(
    settings: Settings, *, starts: bool = True, shares_files: bool = True
) -> schema.ClientCapabilities:
    """Return the capabilities of this client (v1/initialization).

    `starts`: the agent's program can be started for a login. `shares_files`: the agent's files
    are on this machine.
    """
    return schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=shares_files, write_text_file=shares_files),
        terminal=settings.terminal.enabled and AVAILABLE,
        session=schema.ClientSessionCapabilities(
            config_options=schema.SessionConfigOptionsCapabilities(
                boolean=schema.BooleanConfigOptionCapabilities()
            ),
            notices=schema.NoticeCapabilities(),
            compaction=schema.CompactionCapabilities(),
            prompt_suggestions=schema.PromptSuggestionsCapabilities(),
            cursors=schema.SessionCursorsCapabilities(),
        ),
        subagents=schema.SubagentCapabilities(),
        plan=schema.PlanCapabilities(),
        elicitation=schema.ElicitationCapabilities(
            form=schema.ElicitationFormCapabilities(), url=schema.ElicitationUrlCapabilities()
        ),
        auth=schema.AuthCapabilities(terminal=starts),
        meta={"terminal-auth": starts, "terminal_output": True, **_extensions(settings)},
    )


def _extensions(settings: Settings) -> dict[str, Any]:
    """Return the extension methods that the user handles, for `_meta`."""
    names = sorted(settings.extensions)
    return {META_KEY: {"extensions": names}} if names else {}


def secrets(env: Mapping[str, str], spec: AgentSettings) -> list[str]:
    """Return the values of secret variables in the user's and the agent's environment."""
    configured = (value for key, value in spec.env.items() if _SECRET.search(key))
    return list(dict.fromkeys([*secret_values({**env, **spec.env}), *configured]))


def level(name: str) -> Level:
    """Return the option `log.level` as a level of the traffic log, or `info` if it is unknown."""
    return cast("Level", name) if name in get_args(Level) else "info"


def is_local(spec: AgentSettings) -> bool:
    """Return whether an agent runs on this machine, according to its configuration."""
    if spec.via or spec.paths:
        return False
    if not spec.url:
        return True
    from acp_nvim.agent.transport.addresses import is_loopback

    return is_loopback(spec.url)


def attempts_at(spec: AgentSettings, pauses: Iterator[float] | None) -> Attempts | None:
    """Return the attempts to connect to a remote agent, or None for a local one."""
    if not spec.is_remote:
        return None
    from acp_nvim.agent.remote_agents import Attempts

    return Attempts(pauses)
