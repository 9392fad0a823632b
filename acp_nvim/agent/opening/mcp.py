"""MCP servers for agents, from the options and from `mcp.json` (v1/session-setup#mcp-servers).

A server is passed only to agents that support its transport. Environment variables are expanded
when the session opens.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from acp_nvim import wording
from acp_nvim.agent.opening.shown_values import PLACEHOLDER
from acp_nvim.agent.serving.consent import Project
from acp_nvim.files.bytes import nofollow
from acp_nvim.protocol import schema

FILES: Final = (".mcp.json", "mcp.json")
"""Names of the file in a session's directory, in order of precedence."""
FILE_BYTES: Final = 1 << 20

_TRANSPORTS: Final = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
"""Protocol names of the transports, by common spelling."""

Server = schema.McpServerStdio | schema.McpServerHttp | schema.McpServerSse


class UnusableServer(ValueError):
    """Server that cannot be passed on. The message is one line and contains no values."""


class ServerOutcome(Struct, frozen=True):
    """Outcome for one server: passed on with a transport, or left out with a reason.

    `variables` are the names of the expanded variables. `missing` is a program that was not found.
    """

    name: str
    transport: str = ""
    left_out: str = ""
    variables: tuple[str, ...] = ()
    missing: str = ""


class Servers(Struct):
    """Servers for the agent, messages for the user, and `secrets` that must not be logged."""

    passed: list[Server] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """Reasons why a server may not work although it is passed on."""
    secrets: list[str] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    """Names of the servers from project files, by file."""
    asks: list[Project] = field(default_factory=list)
    """Project files whose servers are waiting for the user's permission."""
    outcomes: list[ServerOutcome] = field(default_factory=list)


def servers(
    configured: Sequence[Mapping[str, Any]],
    cwd: str,
    capabilities: schema.McpCapabilities,
    env: Mapping[str, str],
    is_allowed: Callable[[Project], bool | None],
) -> Servers:
    """Return the servers for a session in `cwd`.

    Configured servers come first, in order of precedence, then servers of the project file that the
    user has allowed (`is_allowed`). If two servers have the same name, the first one is used.
    """
    result = Servers()
    seen: set[str] = set()
    for entry, file in [
        *((entry, None) for entry in configured),
        *_from_files(cwd, result, is_allowed, env),
    ]:
        name = str(entry.get("name", ""))
        if not name:
            result.left_out.append(wording.MCP_WITHOUT_NAME)
            result.outcomes.append(ServerOutcome("?", left_out=wording.WHY_MCP_NAMELESS))
        elif entry.get("disabled"):
            result.outcomes.append(ServerOutcome(name, left_out=wording.WHY_MCP_DISABLED))
        elif name in seen:
            result.outcomes.append(ServerOutcome(name, left_out=wording.WHY_MCP_TWICE))
        else:
            seen.add(name)
            is_passed = _add_server(result, entry, name, cwd, capabilities, env)
            if is_passed and file is not None:
                result.files.setdefault(file, []).append(name)
    return result


def _add_server(
    result: Servers,
    entry: Mapping[str, Any],
    name: str,
    cwd: str,
    capabilities: schema.McpCapabilities,
    env: Mapping[str, str],
) -> bool:
    """Add a server and return True, or add the reason to `left_out` and return False."""
    expand = _Expansion({**env, "workspaceFolder": cwd})
    try:
        server = _server(entry, name, cwd, capabilities, expand)
    except UnusableServer as error:
        result.left_out.append(wording.MCP_LEFT_OUT.format(server=name, reason=error))
        result.outcomes.append(ServerOutcome(name, left_out=str(error)))
        return False
    result.passed.append(server)
    result.secrets.extend(expand.secrets)
    missing = ""
    if isinstance(server, schema.McpServerStdio) and not os.path.isabs(server.command):  # noqa: PTH117
        missing = server.command
        result.doubts.append(wording.MCP_NOT_FOUND.format(server=name, program=missing))
    variables = tuple(expand.names)
    result.outcomes.append(
        ServerOutcome(name, transport(server), variables=variables, missing=missing)
    )
    return True


def transport(server: Any) -> str:
    """Return the transport of a server: `stdio`, `http`, `sse` or `acp`."""
    return str(server.__struct_config__.tag or "stdio")


def _server(
    entry: Mapping[str, Any],
    name: str,
    cwd: str,
    capabilities: schema.McpCapabilities,
    expand: _Expansion,
) -> Server:
    kind = entry.get("type") or ("http" if entry.get("url") else "stdio")
    transport = _TRANSPORTS.get(str(kind))
    if transport is None:
        raise UnusableServer(wording.WHY_MCP_TYPE.format(type=kind))
    if transport == "stdio":
        return _stdio(entry, name, cwd, expand)
    if not (capabilities.http if transport == "http" else capabilities.sse):
        raise UnusableServer(wording.WHY_MCP_TRANSPORT.format(type=transport))
    url = expand.text(_string(entry, "url"))
    if not re.match("https?://", url):
        raise UnusableServer(wording.WHY_MCP_URL)
    headers = [schema.HttpHeader(*pair) for pair in _pairs(entry, "headers", expand)]
    if transport == "http":
        return schema.McpServerHttp(name, url, headers)
    return schema.McpServerSse(name, url, headers)


def _stdio(
    entry: Mapping[str, Any], name: str, cwd: str, expand: _Expansion
) -> schema.McpServerStdio:
    variables = [schema.EnvVariable(*pair) for pair in _pairs(entry, "env", expand)]
    path = next((v.value for v in variables if v.name == "PATH"), expand.env.get("PATH"))
    command = _absolute_program(expand.text(_string(entry, "command")), cwd, path)
    args = entry.get("args") or []
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        raise UnusableServer(wording.WHY_MCP_ARGS)
    return schema.McpServerStdio(name, command, [expand.text(arg) for arg in args], variables)


def _absolute_program(command: str, cwd: str, path: str | None) -> str:
    """Return the absolute path of a program, which the protocol requires.

    A program that is not found is passed on unchanged, since the agent may run on another machine.
    """
    program = os.path.expanduser(command)  # noqa: PTH111 - expands `~` and nothing else
    if os.path.isabs(program):  # noqa: PTH117
        return program
    if os.sep in program:
        return str(Path(cwd, program))
    resolved = shutil.which(program, path=_absolute_search_path(path, cwd))
    if resolved is None:
        return program
    return resolved if os.path.isabs(resolved) else str(Path(cwd, resolved))  # noqa: PTH117


def _absolute_search_path(path: str | None, cwd: str) -> str | None:
    """Return a PATH whose relative folders are resolved in the session's directory."""
    return path and os.pathsep.join(str(Path(cwd, folder)) for folder in path.split(os.pathsep))


def _string(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise UnusableServer(wording.WHY_MCP_KEY.format(key=key))
    return value


def _pairs(entry: Mapping[str, Any], key: str, expand: _Expansion) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a map (as in `mcp.json`) or of a list (as in the protocol)."""
    value = entry.get(key) or {}
    if isinstance(value, list):
        value = {item.get("name"): item.get("value") for item in value if isinstance(item, dict)}
    if not isinstance(value, dict):
        raise UnusableServer(wording.WHY_MCP_PAIRS.format(key=key))
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str | int | float):
            raise UnusableServer(wording.WHY_MCP_PAIRS.format(key=key))
        yield name, expand.secret(str(text))


class _Expansion:
    """Expander of `$ENV{NAME}`, `${NAME}`, `${env:NAME}`, `${NAME:-default}`."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.secrets: list[str] = []
        """Expanded values, and all values of `env` and `headers`."""
        self.names: dict[str, None] = {}
        """Names of the expanded variables, in order."""

    def text(self, text: str) -> str:
        return PLACEHOLDER.sub(self._value, text)

    def secret(self, text: str) -> str:
        """Expand a value of `env` or `headers`. The result is never logged."""
        expanded = self.text(text)
        self.secrets.append(expanded)
        return expanded

    def _value(self, match: re.Match[str]) -> str:
        name = match["lua"] or match["json"]
        value = self.env.get(name)
        if value is None:
            if match["default"] is not None:
                return match["default"]
            raise UnusableServer(wording.WHY_MCP_VARIABLE.format(name=name))
        if name != "workspaceFolder":
            self.secrets.append(value)
            self.names.setdefault(name)
        return value


def _from_files(
    cwd: str, result: Servers, is_allowed: Callable[[Project], bool | None], env: Mapping[str, str]
) -> Iterable[tuple[Mapping[str, Any], str]]:
    """Return the servers of the project's `mcp.json`, each with the file that has it."""
    entries: list[tuple[Mapping[str, Any], str]] = []
    for name in FILES:
        file = Path(cwd, name)
        try:
            data = _read_file(file)
            listed = [entry for entry in _entries_of(data) if not entry.get("disabled")]
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            result.left_out.append(
                wording.MCP_FILE_UNREAD.format(file=file, reason=_one_line(error))
            )
            continue
        project = _project(file, data, listed, cwd, env)
        answer = is_allowed(project) if listed else False
        if answer is None:
            result.asks.append(project)
        if answer:
            entries += [(entry, str(file)) for entry in listed]
            continue
        why = wording.WHY_MCP_NOT_ASKED if answer is None else wording.WHY_MCP_DECLINED
        result.outcomes.extend(ServerOutcome(name, left_out=why) for name in project.names)
    return entries


def _project(
    file: Path, data: bytes, listed: Sequence[Mapping[str, Any]], cwd: str, env: Mapping[str, str]
) -> Project:
    """Return the project for the question to the user, with each server as the file defines it.

    The digest covers the lines shown too, since they may contain more than the file.
    """
    from acp_nvim.agent.opening.project_servers import server_lines  # few projects have servers

    lines = [
        line
        for entry in listed
        for line in server_lines(entry, partial(_foreign_program, entry, cwd, env))
    ]
    digest = hashlib.sha256(data + b"\0" + "\n".join(lines).encode("utf-8", "surrogatepass"))
    return Project(str(file), digest.hexdigest(), [str(entry["name"]) for entry in listed], lines)


def _foreign_program(entry: Mapping[str, Any], cwd: str, env: Mapping[str, str]) -> str | None:
    """Return the program that a bare name resolves to, or None if it is certainly the user's own.

    A program may be foreign if it is inside the project, or found through a PATH from the file.
    """
    try:
        server = _stdio(entry, str(entry["name"]), cwd, _Expansion({**env, "workspaceFolder": cwd}))
    except UnusableServer:
        return None
    if server.command == entry.get("command"):
        return None
    has_path = any(variable.name == "PATH" for variable in server.env)
    return server.command if has_path or Path(server.command).is_relative_to(cwd) else None


def _read_file(file: Path) -> bytes:
    """Return the bytes of a file, following links.

    Raise OSError, even for a FIFO, because reading it might block.
    """
    try:
        data = nofollow.read(os.path.realpath(file), FILE_BYTES)
    except nofollow.SizeError as error:
        raise ValueError(wording.WHY_MCP_SIZE.format(size=FILE_BYTES)) from error
    if data is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return data


def _entries_of(content: bytes) -> list[Mapping[str, Any]]:
    """Return the entries of `{"mcpServers": {name: …}}`, or of `servers`, as in some editors."""
    try:
        data = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise ValueError(wording.WHY_MCP_JSON.format(reason=error)) from error
    table = data.get("mcpServers", data.get("servers")) if isinstance(data, dict) else None
    if not isinstance(table, dict):
        raise ValueError(wording.WHY_MCP_NONE)
    wrong = [name for name, entry in table.items() if not isinstance(entry, dict)]
    if wrong:
        raise ValueError(wording.WHY_MCP_TABLE.format(server=wrong[0]))
    return [{**entry, "name": name} for name, entry in table.items()]


def _one_line(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())
