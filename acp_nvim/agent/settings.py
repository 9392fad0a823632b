"""The user's options, decoded. `lua/acp/config.lua` has the defaults and validates them."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import field

from acp_nvim.files.ports import FileOptions
from acp_nvim.session.questions.rules import Rule

MIB = 1 << 20


class SystemPromptSettings(msgspec.Struct, frozen=True):
    """System prompt with its mode: `append` to the agent's own, or `override` it."""

    text: str
    mode: Literal["append", "override"] = "append"


class AgentSettings(msgspec.Struct, frozen=True):
    """Settings for starting one agent and its sessions (option `agents`)."""

    command: list[str] = field(default_factory=list)
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    via: str | list[str] | bool | None = None
    """Words before the agent's command, or the name of a program. True if it is a Lua function."""
    host: str | None = None
    container: str | None = None
    pod: str | None = None
    paths: dict[str, str] = field(default_factory=dict)
    """Remote directories, by local directory."""
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    auth_method: str | None = None
    mode: str | None = None
    options: dict[str, str | bool] = field(default_factory=dict)
    mcp_servers: list[dict[str, Any]] = field(default_factory=list)
    tools: bool | list[str] | None = None
    system_prompt: str | SystemPromptSettings | None = None
    protocol: int | str | None = None
    channel: Literal["stable", "preview"] | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    title: str | None = None
    install: str | None = None
    store: list[str] = field(default_factory=list)

    @property
    def is_remote(self) -> bool:
        """Return whether the agent is reached over a connection that may break."""
        return bool(self.url or self.via)

    @property
    def shares_files(self) -> bool:
        """Return whether the agent's files are on this machine."""
        return not self.via or bool(self.paths)


class PresetSettings(msgspec.Struct, frozen=True):
    """Settings of a preset (option `presets`), which override its agent's settings."""

    agent: str | None = None
    """Name of the agent, or None for the default one."""
    model: str | None = None
    mode: str | None = None
    options: dict[str, str | bool] = field(default_factory=dict)
    tools: bool | list[str] | None = None
    rules: list[Rule] = field(default_factory=list)
    system_prompt: str | SystemPromptSettings | None = None


NO_PRESET = PresetSettings()


def with_preset(spec: AgentSettings, preset: PresetSettings) -> AgentSettings:
    """Return the settings of an agent for a session with a preset."""
    return msgspec.structs.replace(
        spec,
        mode=preset.mode or spec.mode,
        options={**spec.options, **preset.options},
        tools=spec.tools if preset.tools is None else preset.tools,
        system_prompt=preset.system_prompt or spec.system_prompt,
    )


def own_file_globs(name: str, spec: AgentSettings) -> list[str]:
    """Return the globs of an agent's own files.

    By default, these are the lock files in the agent's hidden folder.
    """
    return spec.store or [f".{name}/**/.locks/**"]


def file_options(options: Settings) -> FileOptions:
    """Return the options that the workspace reads."""
    files = options.files
    return FileOptions(
        files.outside,
        files.secret,
        files.save,
        files.autocmds,
        options.limits.message_bytes,
        files.executed,
        options.checkpoints,
        files.unsaved,
        {name: own_file_globs(name, spec) for name, spec in options.agents.items()},
        options.blame,
    )


class FileSettings(msgspec.Struct, frozen=True):
    """Options `files.*`."""

    outside: Literal["ask", "deny", "allow"] = "ask"
    secret: list[str] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    save: Literal["auto", "always", "never"] = "auto"
    autocmds: bool = True
    unsaved: Literal["attach", "save", "ask", "ignore"] = "attach"


class PermissionSettings(msgspec.Struct, frozen=True):
    """Options `permission.*`."""

    rules: list[Rule] = field(default_factory=list)


class TerminalSettings(msgspec.Struct, frozen=True):
    """Options `terminal.*`; sizes in bytes."""

    enabled: bool = True
    output_limit: int = MIB


class ChatSettings(msgspec.Struct, frozen=True):
    """Options `chat.*` that drawing depends on."""

    open: bool = True
    thoughts: str = "fold"
    tool_lines: int = 8


class ReviewSettings(msgspec.Struct, frozen=True):
    """Options `review.*` for the core."""

    diagnostics: bool = True


class LogSettings(msgspec.Struct, frozen=True):
    """Options `log.*`. `bytes` is the size of the traffic ring."""

    level: str = "info"
    bytes: int = 8 * MIB
    redact: bool = True


class HistorySettings(msgspec.Struct, frozen=True):
    """Options `history.*`: whether sessions are stored, for how many days, in how many bytes."""

    enabled: bool = True
    days: float = 90
    bytes: int = 256 * MIB


class WorktreeSettings(msgspec.Struct, frozen=True):
    """Options `worktrees.*`: the directory of worktrees, and a command that sets one up."""

    dir: str | None = None
    setup: str | list[str] | None = None


class Limits(msgspec.Struct, frozen=True):
    """Options `limits.*`, in bytes."""

    message_bytes: int = 64 * MIB
    pending_bytes: int = 64 * MIB
    tool_output_bytes: int = MIB


class Timeouts(msgspec.Struct, frozen=True):
    """Options `timeouts.*`, in seconds."""

    cancel_s: float = 3
    kill_s: float = 2
    silent_s: float = 60


class Settings(msgspec.Struct, frozen=True):
    """All options for the core."""

    agent: str = "tutor"
    agents: dict[str, AgentSettings] = field(default_factory=dict)
    agents_file: str | None = None
    presets: dict[str, PresetSettings] = field(default_factory=dict)
    stdpath: dict[str, str] = field(default_factory=dict)
    neovim: str = ""
    mcp_servers: list[dict[str, Any]] = field(default_factory=list)
    tools: bool | list[str] = True
    tools_ask: bool = False
    meta: dict[str, Any] = field(default_factory=dict)
    extensions: list[str] = field(default_factory=list)
    files: FileSettings = field(default_factory=FileSettings)
    permission: PermissionSettings = field(default_factory=PermissionSettings)
    terminal: TerminalSettings = field(default_factory=TerminalSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    review: ReviewSettings = field(default_factory=ReviewSettings)
    checkpoints: bool = True
    blame: bool = False
    blame_export: str = "trace"
    history: HistorySettings = field(default_factory=HistorySettings)
    worktrees: WorktreeSettings = field(default_factory=WorktreeSettings)
    log: LogSettings = field(default_factory=LogSettings)
    limits: Limits = field(default_factory=Limits)
    timeouts: Timeouts = field(default_factory=Timeouts)

    def preset(self, name: str | None) -> PresetSettings:
        """Return the preset of that name, or an empty one."""
        return self.presets.get(name or "", NO_PRESET)


def decode(table: dict[str, Any]) -> Settings:
    """Return settings from the table that Lua sent. Raise `msgspec.ValidationError`.

    Lua cannot distinguish an empty list from an empty map, so an empty list may mean either.
    """
    return msgspec.convert(_maps(table, Settings), Settings, strict=False)


def _maps(value: Any, type_: Any) -> Any:
    """Turn empty lists into maps if the type requires a map."""
    if not isinstance(value, dict | list):
        return value
    kind = _plain(type_)
    wants_map = get_origin(kind) is dict or (
        isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    )
    if value == [] and wants_map:
        return {}
    if isinstance(value, dict) and wants_map:
        if get_origin(kind) is dict:
            return {key: _maps(item, get_args(kind)[1]) for key, item in value.items()}
        hints = _hints(kind)
        return {key: _maps(item, hints.get(key, Any)) for key, item in value.items()}
    if isinstance(value, list) and get_origin(kind) is list:
        return [_maps(item, get_args(kind)[0]) for item in value]
    return value


@cache
def _hints(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(kind)


def _plain(type_: Any) -> Any:
    """Return the type without `| None`."""
    if get_origin(type_) in (Union, UnionType):
        rest = [arg for arg in get_args(type_) if arg is not type(None)]
        return rest[0] if len(rest) == 1 else type_
    return type_
