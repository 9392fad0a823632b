"""Option `agents_file`: agents in the public registry's format (get-started/registry).

`{"version", "agents": [{"id", "name", "distribution": {"npx" | "uvx": {"package", "cmd", "args",
"env"}, "binary": {PLATFORM: {"archive", "cmd", "args", "env"}}}}]}`. Nothing is downloaded here:
`npx` and `uvx` do that themselves; a binary has to be on PATH.
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
"""Finds a program on PATH (`shutil.which`)."""

RUNNERS = {
    "npx": "install Node.js, which brings npx",
    "uvx": "install uv, which brings uvx",
}


class RegistryError(Exception):
    """The file, or an agent of it, cannot be used; the message says why, in one line."""


class Package(msgspec.Struct, frozen=True):
    """A package that a runner fetches and runs; `cmd` names a program of it, where it has more."""

    package: str
    cmd: str | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = None


class Binary(msgspec.Struct, frozen=True):
    """A program for one platform, in an archive at a URL; `cmd` is its path in there."""

    cmd: str
    archive: str = ""
    args: list[str] | None = None
    env: dict[str, str] | None = None


class Distribution(msgspec.Struct, frozen=True):
    """The ways in which an agent is distributed; kinds that are not known here are ignored."""

    npx: Package | None = None
    uvx: Package | None = None
    binary: dict[str, Binary] | None = None


class Entry(msgspec.Struct, frozen=True):
    """One agent of the registry."""

    id: str
    name: str = ""
    website: str | None = None
    repository: str | None = None
    distribution: Distribution = field(default_factory=Distribution)


class _File(msgspec.Struct, frozen=True):
    agents: list[msgspec.Raw]


def read(path: str | Path) -> dict[str, Entry]:
    """Return the agents of a registry file by id; one that cannot be read takes no other with it.

    Raises `RegistryError` when the whole file is of no use.
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


def settings(path: str | Path, name: str, which: Which = shutil.which) -> AgentSettings | None:
    """How the agent with that id is started; None when the file has none. Raises
    `RegistryError`.
    """
    entry = read(path).get(name)
    return None if entry is None else of_entry(entry, which)


def of_entry(
    entry: Entry, which: Which = shutil.which, platform_id: str | None = None
) -> AgentSettings:
    """Return how an agent is started: by an installed binary, else by a package that is fetched.

    `install` of the result says how to get a missing program. Raises `RegistryError` when there
    is no distribution for this platform.
    """
    binary = (entry.distribution.binary or {}).get(platform_id or this_platform())
    if binary is not None and which(_program(binary)):
        return _of_binary(entry, binary)
    packages = [
        (runner, package)
        for runner, package in (("npx", entry.distribution.npx), ("uvx", entry.distribution.uvx))
        if package is not None
    ]
    if packages:
        runner, package = next((p for p in packages if which(p[0])), packages[0])
        return _of_package(entry, runner, package)
    if binary is not None:
        return _of_binary(entry, binary)
    raise RegistryError(f"{entry.id} is not distributed for {platform_id or this_platform()}")


def this_platform() -> str:
    """The registry's name for this machine, such as `linux-x86_64`."""
    system = {"win32": "windows", "cygwin": "windows"}.get(sys.platform, sys.platform)
    import platform  # it reads the system's files, and few need it

    machine = platform.machine().lower()
    return f"{system}-{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }"


def _of_package(entry: Entry, runner: str, package: Package) -> AgentSettings:
    """`npx PACKAGE ARG…`; with a `cmd` of its own `npx --package PACKAGE CMD ARG…`."""
    yes = ["--yes"] if runner == "npx" else []
    source = "--package" if runner == "npx" else "--from"
    what = [source, package.package, package.cmd] if package.cmd else [package.package]
    return AgentSettings(
        command=[runner, *yes, *what, *(package.args or ())],
        env=package.env or {},
        title=entry.name or None,
        install=RUNNERS[runner],
    )


def _of_binary(entry: Entry, binary: Binary) -> AgentSettings:
    program = _program(binary)
    where = binary.archive or entry.website or entry.repository or "its website"
    return AgentSettings(
        command=[program, *(binary.args or ())],
        env=binary.env or {},
        title=entry.name or None,
        install=f"unpack {where} and put {program} on PATH",
    )


def _program(binary: Binary) -> str:
    """The name of the program: its `cmd` without the folders of the archive."""
    return PurePosixPath(binary.cmd.replace("\\", "/")).name


def lookup(options: Settings, name: str, which: Which = shutil.which) -> AgentSettings | None:
    """Return how the agent with that name is started: the user's entry, completed from
    `agents_file`; None when neither has it. Raises `RegistryError`.
    """
    given = options.agents.get(name)
    if options.agents_file is None or (given is not None and (given.command or given.url)):
        return given
    base = settings(options.agents_file, name, which)
    return given if base is None else over(base, given)


def over(base: AgentSettings, given: AgentSettings | None) -> AgentSettings:
    """`given` laid on `base`: each field that is set, and the environment name by name."""
    if given is None:
        return base
    values = {name: getattr(given, name) for name in given.__struct_fields__}
    changes = {name: value for name, value in values.items() if value}
    return msgspec.structs.replace(base, **(changes | {"env": {**base.env, **given.env}}))
