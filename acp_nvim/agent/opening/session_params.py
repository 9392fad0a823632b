"""Parameters for opening a session: MCP servers, system prompt, `_meta`.

They are the same at each opening (v1/session-setup, rfds/client-system-prompt, v1/extensibility).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType, field, structs

from acp_nvim import wording
from acp_nvim.agent.opening import mcp
from acp_nvim.agent.serving.consent import Project
from acp_nvim.agent.serving.servers import OwnServer, Route
from acp_nvim.agent.settings import AgentSettings, Settings
from acp_nvim.protocol import schema

OWN: Final = "neovim"
"""Name of the editor's own MCP server."""
ABOUT_TOOLS: Final = (
    "The user works in Neovim and may have unsaved changes that the files on disk lack: the tools "
    "nvim_read and nvim_search of the editor's MCP server see them, and nvim_diagnostics, "
    "nvim_definition, nvim_references and nvim_rename use the language servers."
)
"""System prompt if the tools are offered and the user has not configured one."""
_ABOUT: Final = schema.SystemPrompt("append", [schema.TextContent(ABOUT_TOOLS)])
TRACE: Final = ("traceparent", "tracestate", "baggage")
"""Keys of `_meta` that link requests to a trace (W3C trace context; rfds/meta-propagation)."""


class SessionParams(Struct, frozen=True):
    """Fields of `session/new`, `session/load`, `session/resume` and `session/fork`."""

    mcp_servers: Sequence[Any] = ()
    system_prompt: schema.SystemPrompt | UnsetType = UNSET
    meta: dict[str, Any] | UnsetType = UNSET
    remarks: Sequence[str] = ()
    """One line for each part that could not be passed on."""
    notes: Sequence[str] = ()
    """One line for each project file with servers."""
    secrets: Sequence[str] = ()
    """Values that must not be logged."""
    asks: Sequence[Project] = ()
    """Project files to ask the user about."""
    outcomes: Sequence[mcp.ServerOutcome] = ()
    """Outcome for each MCP server, the editor's own first."""
    options: Mapping[str, str | bool] = field(default_factory=dict)
    """Initial values of config options."""
    tools: str = ""
    """Name of the editor's server, which is the first one. Empty if the server is not offered."""

    def with_tools_named(self, name: str) -> SessionParams:
        """Return the parameters with another name for the editor's server."""
        own, *others = self.mcp_servers
        outcome, *outcomes = self.outcomes
        return structs.replace(
            self,
            mcp_servers=[structs.replace(own, name=name), *others],
            outcomes=[structs.replace(outcome, name=name), *outcomes],
            tools=name,
        )

    def without_tools(self) -> SessionParams:
        """Return the parameters without the editor's server and the prompt about its tools."""
        outcome, *outcomes = self.outcomes
        left_out = structs.replace(outcome, left_out=wording.WHY_MCP_REFUSED)
        return structs.replace(
            self,
            mcp_servers=self.mcp_servers[1:],
            system_prompt=UNSET if self.system_prompt == _ABOUT else self.system_prompt,
            outcomes=[left_out, *outcomes],
            tools="",
        )

    def fields(self) -> dict[str, Any]:
        """Return the parameters by field name of the wire types."""
        return {
            "mcp_servers": list(self.mcp_servers),
            "system_prompt": self.system_prompt,
            "config_options": [_initial(*item) for item in self.options.items()] or UNSET,
            "meta": self.meta,
        }


def _initial(config_id: str, value: str | bool) -> schema.InitialSessionConfigOption:
    kind: Any = "boolean" if isinstance(value, bool) else UNSET
    return schema.InitialSessionConfigOption(config_id, value, kind)


class ToolsNames:
    """Names of the editor's server for the sessions of one agent.

    All sessions share one name until the agent refuses it as already registered. Some agents
    register servers for the whole process and accept each name once.
    """

    def __init__(self) -> None:
        self._count = 1
        self._is_shared = True

    def next(self) -> str:
        return OWN if self._is_shared else self.new_name()

    def new_name(self) -> str:
        """Return a name that no session at this agent has had."""
        self._count += 1
        return f"{OWN}-{self._count}"

    def stop_sharing(self) -> None:
        self._is_shared = False


def of(
    settings: Settings,
    spec: AgentSettings,
    cwd: str,
    capabilities: schema.AgentCapabilities,
    env: Mapping[str, str],
    is_allowed: Callable[[Project], bool | None],
    offer_own: Callable[[], OwnServer | None],
    *,
    starts_servers: bool,
) -> SessionParams:
    """Return the parameters of a session in `cwd` for an agent with these capabilities.

    `offer_own` returns the editor's server, which comes first. It is not called if the user has
    configured a server of the same name. `starts_servers` says whether the agent accepts servers
    that it has to start.
    """
    resolved = mcp.servers(
        [*spec.mcp_servers, *settings.mcp_servers],
        cwd,
        capabilities.mcp_capabilities or schema.McpCapabilities(),
        env,
        is_allowed,
    )
    remarks = [*resolved.left_out, *resolved.doubts]
    own = _own_servers(resolved, offer_own, remarks)
    servers = [*own, *resolved.passed]
    if not starts_servers:
        servers = _without_started_servers(servers, remarks)
    has_own = bool(own) and servers[:1] == own
    prompt = _system_prompt(spec, capabilities, remarks)
    if has_own and isinstance(prompt, UnsetType) and _prompt_capability(capabilities):
        prompt = _ABOUT
    return SessionParams(
        servers,
        prompt,
        {**settings.meta, **spec.meta} or UNSET,
        remarks,
        _notes(resolved),
        resolved.secrets,
        resolved.asks,
        _outcomes(resolved, own, servers),
        tools=servers[0].name if has_own else "",
    )


def _own_servers(
    servers: mcp.Servers, offer_own: Callable[[], OwnServer | None], remarks: list[str]
) -> list[Any]:
    """Return the editor's own server in a list, which is empty if it is not offered.

    Add its secrets to `servers`, and a remark to `remarks` if another server has its name.
    """
    if any(server.name == OWN for server in servers.passed):
        remarks.append(wording.TOOLS_NAME_TAKEN.format(server=OWN))
        return []
    offered = offer_own()
    if offered is None:
        return []
    servers.secrets.extend(offered.secrets)
    return [offered.server]


def _notes(servers: mcp.Servers) -> list[str]:
    notes = [
        wording.MCP_SERVERS.format(file=file, names=", ".join(names))
        for file, names in servers.files.items()
    ]
    return notes + [wording.MCP_ASKED.format(servers=project.servers) for project in servers.asks]


def _outcomes(
    servers: mcp.Servers, own: Sequence[Any], passed: Sequence[Any]
) -> list[mcp.ServerOutcome]:
    """Return the outcomes. The outcome for the editor's own server, if offered, comes first."""
    outcomes = [*(mcp.ServerOutcome(s.name, mcp.transport(s)) for s in own), *servers.outcomes]
    names = {server.name for server in passed}
    reason = wording.WHY_MCP_NOT_STARTED
    return [
        outcome
        if outcome.left_out or outcome.name in names
        else mcp.ServerOutcome(outcome.name, left_out=reason)
        for outcome in outcomes
    ]


def _without_started_servers(servers: Sequence[Any], remarks: list[str]) -> list[Any]:
    """Leave out the servers that the agent would have to start, and say so in `remarks`."""
    started = [server.name for server in servers if isinstance(server, schema.McpServerStdio)]
    if started:
        remarks.append(wording.SERVERS_LEFT_OUT.format(names=", ".join(started)))
    return [server for server in servers if not isinstance(server, schema.McpServerStdio)]


def tools_route(capabilities: schema.McpCapabilities) -> Route:
    return "acp" if capabilities.acp is True else "relay"


def trace(settings: Settings, spec: AgentSettings) -> dict[str, Any]:
    """Return the trace keys of the configured `_meta`, which are also sent with each prompt."""
    meta = {**settings.meta, **spec.meta}
    return {key: meta[key] for key in TRACE if key in meta}


def _prompt_capability(
    capabilities: schema.AgentCapabilities,
) -> schema.SessionSystemPromptCapabilities | UnsetType | None:
    return (capabilities.session_capabilities or schema.SessionCapabilities()).system_prompt


def _system_prompt(
    spec: AgentSettings, capabilities: schema.AgentCapabilities, remarks: list[str]
) -> schema.SystemPrompt | UnsetType:
    """Return the system prompt in the mode that the agent supports: `override`, else `append`.

    Add a remark to `remarks` if the agent does not support the configured one.
    """
    prompt = spec.system_prompt
    if isinstance(prompt, str):
        text, mode = prompt, "append"
    elif prompt is not None:
        text, mode = prompt.text, prompt.mode
    else:
        return UNSET
    capability = _prompt_capability(capabilities)
    if not text.strip():
        return UNSET
    if not capability:
        remarks.append(wording.SYSTEM_PROMPT_LEFT_OUT)
        return UNSET
    if mode == "override" and not (capability.mode and capability.mode.override):
        remarks.append(wording.SYSTEM_PROMPT_APPENDED)
        mode = "append"
    return schema.SystemPrompt(mode, [schema.TextContent(text)])
