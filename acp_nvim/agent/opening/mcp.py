"""MCP servers that are passed to agents: from the options and from `mcp.json`, each only to agents
that can take it, with values from the environment put in at the last moment
(v1/session-setup#mcp-servers).
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
from acp_nvim.agent.opening.project_servers import described
from acp_nvim.agent.opening.shown_values import PLACEHOLDER
from acp_nvim.agent.serving.consent import Project
from acp_nvim.files.bytes import nofollow
from acp_nvim.protocol import schema

FILES: Final = (".mcp.json", "mcp.json")
"""Looked for in a session's directory; the first that names a server wins."""
FILE_BYTES: Final = 1 << 20

_TRANSPORTS: Final = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
"""How the world spells them -> how the protocol does."""

Server = schema.McpServerStdio | schema.McpServerHttp | schema.McpServerSse


class Mistake(ValueError):
    """A server cannot be passed on; the message says why in one line, without any value."""


class Fate(Struct, frozen=True):
    """What became of one server: passed on by a transport, or left out for a reason. `variables`
    are the names of those whose values were filled in, `missing` a program that is not here.
    """

    name: str
    transport: str = ""
    left_out: str = ""
    variables: tuple[str, ...] = ()
    missing: str = ""


class Servers(Struct):
    """The servers for the agent; `left_out` and `doubts` for the user, `secrets` for the log."""

    servers: list[Server] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """Why a server that is passed on may not work."""
    secrets: list[str] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    """Files that servers were taken from, and the names of these servers."""
    asks: list[Project] = field(default_factory=list)
    """Files that were left out, because the user has not been asked about them yet."""
    fates: list[Fate] = field(default_factory=list)
    """What became of each server that somebody has configured."""


def servers(
    configured: Sequence[Mapping[str, Any]],
    cwd: str,
    capabilities: schema.McpCapabilities,
    env: Mapping[str, str],
    said: Callable[[Project], bool | None],
) -> Servers:
    """Return the servers for a session in `cwd`: those configured, in order of precedence, then
    those of the project's file, as far as the user has `said` so. Of two with one name the first
    counts.
    """
    found = Servers()
    seen: set[str] = set()
    for entry, file in [
        *((entry, None) for entry in configured),
        *_of_files(cwd, found, said, env),
    ]:
        name = str(entry.get("name", ""))
        if not name:
            found.left_out.append(wording.MCP_WITHOUT_NAME)
            found.fates.append(Fate("?", left_out=wording.WHY_MCP_NAMELESS))
        elif entry.get("disabled"):
            found.fates.append(Fate(name, left_out=wording.WHY_MCP_DISABLED))
        elif name in seen:
            found.fates.append(Fate(name, left_out=wording.WHY_MCP_TWICE))
        else:
            seen.add(name)
            passed = _add(found, entry, name, cwd, capabilities, env)
            if passed and file is not None:
                found.files.setdefault(file, []).append(name)
    return found


def _add(
    found: Servers,
    entry: Mapping[str, Any],
    name: str,
    cwd: str,
    capabilities: schema.McpCapabilities,
    env: Mapping[str, str],
) -> bool:
    """Whether the server is passed on; where it is not, `left_out` says why."""
    expand = _Expansion({**env, "workspaceFolder": cwd})
    try:
        server = _server(entry, name, cwd, capabilities, expand)
    except Mistake as mistake:
        found.left_out.append(wording.MCP_LEFT_OUT.format(server=name, reason=mistake))
        found.fates.append(Fate(name, left_out=str(mistake)))
        return False
    found.servers.append(server)
    found.secrets.extend(expand.used)
    missing = ""
    if isinstance(server, schema.McpServerStdio) and not os.path.isabs(server.command):  # noqa: PTH117
        missing = server.command
        found.doubts.append(wording.MCP_NOT_FOUND.format(server=name, program=missing))
    variables = tuple(expand.names)
    found.fates.append(Fate(name, transport(server), variables=variables, missing=missing))
    return True


def transport(server: Any) -> str:
    """Return how an agent reaches a server: `stdio`, `http`, `sse` or `acp`."""
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
        raise Mistake(wording.WHY_MCP_TYPE.format(type=kind))
    if transport == "stdio":
        return _stdio(entry, name, cwd, expand)
    if not (capabilities.http if transport == "http" else capabilities.sse):
        raise Mistake(wording.WHY_MCP_TRANSPORT.format(type=transport))
    url = expand.text(_string(entry, "url"))
    if not re.match("https?://", url):
        raise Mistake(wording.WHY_MCP_URL)
    headers = [schema.HttpHeader(*pair) for pair in _pairs(entry, "headers", expand)]
    if transport == "http":
        return schema.McpServerHttp(name, url, headers)
    return schema.McpServerSse(name, url, headers)


def _stdio(
    entry: Mapping[str, Any], name: str, cwd: str, expand: _Expansion
) -> schema.McpServerStdio:
    variables = [schema.EnvVariable(*pair) for pair in _pairs(entry, "env", expand)]
    path = next((v.value for v in variables if v.name == "PATH"), expand.env.get("PATH"))
    command = _absolute(expand.text(_string(entry, "command")), cwd, path)
    args = entry.get("args") or []
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        raise Mistake(wording.WHY_MCP_ARGS)
    return schema.McpServerStdio(name, command, [expand.text(arg) for arg in args], variables)


def _absolute(command: str, cwd: str, path: str | None) -> str:
    """The program by its full path, as the protocol wants it. One that is given so or not to be
    found is passed on as it is: the agent may run elsewhere.
    """
    program = os.path.expanduser(command)  # noqa: PTH111 - `~` alone, nothing else changes
    if os.path.isabs(program):  # noqa: PTH117
        return program
    if os.sep in program:
        return str(Path(cwd, program))
    found = shutil.which(program, path=_rooted(path, cwd))
    if found is None:
        return program
    return found if os.path.isabs(found) else str(Path(cwd, found))  # noqa: PTH117


def _rooted(path: str | None, cwd: str) -> str | None:
    """A PATH whose folders start where the server will: relative ones are the session's."""
    return path and os.pathsep.join(str(Path(cwd, folder)) for folder in path.split(os.pathsep))


def _string(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise Mistake(wording.WHY_MCP_KEY.format(key=key))
    return value


def _pairs(entry: Mapping[str, Any], key: str, expand: _Expansion) -> Iterator[tuple[str, str]]:
    """Names and values, of a map as in `mcp.json` or of a list as on the wire."""
    value = entry.get(key) or {}
    if isinstance(value, list):
        value = {item.get("name"): item.get("value") for item in value if isinstance(item, dict)}
    if not isinstance(value, dict):
        raise Mistake(wording.WHY_MCP_PAIRS.format(key=key))
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str | int | float):
            raise Mistake(wording.WHY_MCP_PAIRS.format(key=key))
        yield name, expand.secret(str(text))


class _Expansion:
    """`$ENV{NAME}`, `${NAME}`, `${env:NAME}`, `${NAME:-default}` with values of an environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.used: list[str] = []
        """Values that were put in, and those that are secret by where they stand."""
        self.names: dict[str, None] = {}
        """Names of the variables that were put in, in order."""

    def text(self, text: str) -> str:
        return PLACEHOLDER.sub(self._value, text)

    def secret(self, text: str) -> str:
        """The same for a value of `env` or `headers`; the result is never logged."""
        expanded = self.text(text)
        self.used.append(expanded)
        return expanded

    def _value(self, match: re.Match[str]) -> str:
        name = match["ours"] or match["theirs"]
        value = self.env.get(name)
        if value is None:
            if match["default"] is not None:
                return match["default"]
            raise Mistake(wording.WHY_MCP_VARIABLE.format(name=name))
        if name != "workspaceFolder":
            self.used.append(value)
            self.names.setdefault(name)
        return value


def _of_files(
    cwd: str, found: Servers, said: Callable[[Project], bool | None], env: Mapping[str, str]
) -> Iterable[tuple[Mapping[str, Any], str]]:
    """The servers of the project's `mcp.json` with their names, and the file of each."""
    entries: list[tuple[Mapping[str, Any], str]] = []
    for name in FILES:
        file = Path(cwd, name)
        try:
            data = _data(file)
            listed = [one for one in _listed(data) if not one.get("disabled")]
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            found.left_out.append(
                wording.MCP_FILE_UNREAD.format(file=file, reason=_one_line(error))
            )
            continue
        project = _project(file, data, listed, cwd, env)
        answer = said(project) if listed else False
        if answer is None:
            found.asks.append(project)
        if answer:
            entries += [(entry, str(file)) for entry in listed]
            continue
        why = wording.WHY_MCP_NOT_ASKED if answer is None else wording.WHY_MCP_DECLINED
        found.fates.extend(Fate(name, left_out=why) for name in project.names)
    return entries


def _project(
    file: Path, data: bytes, listed: Sequence[Mapping[str, Any]], cwd: str, env: Mapping[str, str]
) -> Project:
    """The question to the user: each server as the file has it. An answer holds for the lines that
    were shown, which may say more than the file.
    """
    lines = [
        line for entry in listed for line in described(entry, partial(_foreign, entry, cwd, env))
    ]
    shown = hashlib.sha256(data + b"\0" + "\n".join(lines).encode("utf-8", "surrogatepass"))
    return Project(str(file), shown.hexdigest(), [str(entry["name"]) for entry in listed], lines)


def _foreign(entry: Mapping[str, Any], cwd: str, env: Mapping[str, str]) -> str | None:
    """The program that a bare name leads to, where that is another than the user would get: one in
    the project, or found by a PATH of its own.
    """
    try:
        server = _stdio(entry, str(entry["name"]), cwd, _Expansion({**env, "workspaceFolder": cwd}))
    except Mistake:
        return None
    if server.command == entry.get("command"):
        return None
    own = any(variable.name == "PATH" for variable in server.env)
    return server.command if own or Path(server.command).is_relative_to(cwd) else None


def _data(file: Path) -> bytes:
    """The bytes of a file that may lie behind a link. OSError also for a pipe, which never ends."""
    try:
        data = nofollow.read(os.path.realpath(file), FILE_BYTES)
    except nofollow.SizeError as error:
        raise ValueError(wording.WHY_MCP_SIZE.format(size=FILE_BYTES)) from error
    if data is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return data


def _listed(content: bytes) -> list[Mapping[str, Any]]:
    """`{"mcpServers": {name: …}}`, or `servers` as some editors call it."""
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
