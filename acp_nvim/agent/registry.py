"""Option `agents_file`: agents in the format of the public registry (get-started/registry).

    {"version", "agents": [{"id", "name", "distribution": {
        "npx" or "uvx": {"package", "cmd", "args", "env"},
        "binary": {PLATFORM: {"archive", "cmd", "args", "env"}}}}]}

This module downloads nothing: `npx` and `uvx` do, and a binary has to be on PATH.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import field

from acp_nvim.agent.settings import AgentSettings, Settings

Which = Callable[[str], str | None]
"""Function that finds a program on PATH, like `shutil.which`."""

MATRIX = "protocol-matrix.json"
"""File name of the registry's protocol matrix, which is beside `agents_file`."""
RUNNERS = {
    "npx": "install Node.js, which includes npx",
    "uvx": "install uv, which includes uvx",
}


class RegistryError(Exception):
    """Unusable file, or unusable agent in it. The message gives the reason in one line."""


class Package(msgspec.Struct, frozen=True):
    """Package that a runner fetches and runs. `cmd` names the program if it has several."""

    package: str
    cmd: str | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = None


class Binary(msgspec.Struct, frozen=True):
    """Program for one platform, in an archive at a URL. `cmd` is its path in the archive."""

    cmd: str
    archive: str = ""
    args: list[str] | None = None
    env: dict[str, str] | None = None


class Distribution(msgspec.Struct, frozen=True):
    """Ways to distribute an agent. Unknown kinds are ignored."""

    npx: Package | None = None
    uvx: Package | None = None
    binary: dict[str, Binary] | None = None


class Preview(msgspec.Struct, frozen=True):
    """Unstable release of an agent."""

    version: str = ""
    distribution: Distribution = field(default_factory=Distribution)


class Entry(msgspec.Struct, frozen=True):
    """Agent in the registry."""

    id: str
    name: str = ""
    version: str = ""
    website: str | None = None
    repository: str | None = None
    distribution: Distribution = field(default_factory=Distribution)
    preview: Preview | None = None


class _Probe(msgspec.Struct, frozen=True, rename="camel"):
    """Row of the registry's protocol matrix."""

    id: str
    protocol_version: int | None = None


class _Matrix(msgspec.Struct, frozen=True):
    agents: list[_Probe]


class _File(msgspec.Struct, frozen=True):
    agents: list[msgspec.Raw]


def read(path: str | Path) -> dict[str, Entry]:
    """Return the agents of a registry file by id. Unreadable agents are left out.

    Raise `RegistryError` if the whole file is unusable.
    """
    try:
        file = msgspec.json.decode(Path(path).read_bytes(), type=_File)
    except OSError as error:
        raise RegistryError(f"{path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RegistryError(f"{path}: {error}") from error
    entries: dict[str, Entry] = {}
    for raw in file.agents:
        try:
            entry = msgspec.json.decode(raw, type=Entry)
        except msgspec.ValidationError:
            continue
        entries.setdefault(entry.id, entry)
    return entries


def settings(
    path: str | Path, name: str, which: Which = shutil.which, channel: str | None = None
) -> AgentSettings | None:
    """Return the settings of the agent with that id, or None. Raise `RegistryError`.

    The channel `preview` uses the agent's unstable release, if there is one.
    """
    entry = read(path).get(name)
    if entry is None:
        return None
    if channel == "preview" and entry.preview is not None:
        entry = msgspec.structs.replace(entry, distribution=entry.preview.distribution)
    spec = settings_of(entry, which)
    return msgspec.structs.replace(spec, protocol=_protocol(Path(path).with_name(MATRIX), name))


def _protocol(matrix: Path, name: str) -> int | None:
    """Return the protocol version of an agent's answer to the registry, or None."""
    try:
        probes = msgspec.json.decode(matrix.read_bytes(), type=_Matrix).agents
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return next((probe.protocol_version for probe in probes if probe.id == name), None)


def settings_of(
    entry: Entry, which: Which = shutil.which, platform_id: str | None = None
) -> AgentSettings:
    """Return the settings of an agent: an installed binary, else a package to fetch.

    `install` of the result explains how to get a missing program. Raise `RegistryError` if there is
    no distribution for this platform.
    """
    binary = (entry.distribution.binary or {}).get(platform_id or this_platform())
    if binary is not None and which(_program(binary)):
        return _settings_of_binary(entry, binary)
    packages = [
        (runner, package)
        for runner, package in (("npx", entry.distribution.npx), ("uvx", entry.distribution.uvx))
        if package is not None
    ]
    if packages:
        runner, package = next((p for p in packages if which(p[0])), packages[0])
        return _settings_of_package(entry, runner, package)
    if binary is not None:
        return _settings_of_binary(entry, binary)
    raise RegistryError(f"{entry.id} is not distributed for {platform_id or this_platform()}")


def this_platform() -> str:
    """Return the registry's name for this machine, such as `linux-x86_64`."""
    system = {"win32": "windows", "cygwin": "windows"}.get(sys.platform, sys.platform)
    import platform  # slow import, needed by few

    machine = platform.machine().lower()
    return f"{system}-{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }"


def _settings_of_package(entry: Entry, runner: str, package: Package) -> AgentSettings:
    """Return `npx PACKAGE ARG…`, or with a `cmd` `npx --package PACKAGE CMD ARG…`."""
    yes = ["--yes"] if runner == "npx" else []
    source = "--package" if runner == "npx" else "--from"
    package_args = [source, package.package, package.cmd] if package.cmd else [package.package]
    return AgentSettings(
        command=[runner, *yes, *package_args, *(package.args or ())],
        env=package.env or {},
        title=entry.name or None,
        install=RUNNERS[runner],
    )


def _settings_of_binary(entry: Entry, binary: Binary) -> AgentSettings:
    program = _program(binary)
    source = binary.archive or entry.website or entry.repository or "its website"
    return AgentSettings(
        command=[program, *(binary.args or ())],
        env=binary.env or {},
        title=entry.name or None,
        install=f"unpack {source} and put {program} on PATH",
    )


def _program(binary: Binary) -> str:
    """Return the file name of `cmd`, without the folders of the archive."""
    return PurePosixPath(binary.cmd.replace("\\", "/")).name


def lookup(options: Settings, name: str, which: Which = shutil.which) -> AgentSettings | None:
    """Return the settings of an agent: the user's entry, completed from `agents_file`.

    Return None if neither has it. Raise `RegistryError`.
    """
    given = options.agents.get(name)
    if options.agents_file is None or (given is not None and (given.command or given.url)):
        return given
    base = settings(options.agents_file, name, which, given.channel if given else None)
    return given if base is None else merge_settings(base, given)


def merge_settings(base: AgentSettings, own: AgentSettings | None) -> AgentSettings:
    """Merge `own` into `base`.

    Fields that are set in `own` replace those of `base`. Environments are merged by name.
    """
    if own is None:
        return base
    values = {name: getattr(own, name) for name in own.__struct_fields__}
    changes = {name: value for name, value in values.items() if value}
    return msgspec.structs.replace(base, **(changes | {"env": {**base.env, **own.env}}))
