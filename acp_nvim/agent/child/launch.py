"""Starting a program, and saying in one line why it can't be started."""

import asyncio
import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from acp_nvim.agent.child.reaper import Reaper


class AgentStartError(Exception):
    """A program could not be started. The message names it and the reason, in one line fit for a
    user.
    """


class ProgramMissing(AgentStartError):
    """There is no such program here: it has to be installed."""


async def spawn(
    protocol: asyncio.SubprocessProtocol,
    argv: Sequence[str],
    *,
    cwd: str | Path,
    env: Mapping[str, str],
    reaper: Reaper,
    by: Sequence[str] = (),
    streams: int = asyncio.subprocess.PIPE,
) -> asyncio.SubprocessTransport:
    """Start `argv` in a session of its own, by the program `by` where one has to prepare something;
    `reaper` runs by then. A cancel waits until the start has succeeded or failed.

    Raises AgentStartError.
    """
    program = find_program(argv, cwd, env)
    with anyio.CancelScope(shield=True):
        reaper.start()
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: protocol,
                *(*by, program, *argv[1:]),
                stdin=streams,
                stdout=streams,
                stderr=streams,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise AgentStartError(explain(error, argv, cwd)) from error
    return transport


def find_program(argv: Sequence[str], cwd: str | Path, env: Mapping[str, str]) -> str:
    """The file that `argv[0]` names: by the PATH of `env`, or by `cwd` when it holds a slash.

    Raises AgentStartError when the command is empty, `cwd` is no directory, or there is no such
    program.
    """
    if not argv or not argv[0]:
        raise AgentStartError("no command is given")
    name = argv[0]
    if not Path(cwd).is_dir():
        raise AgentStartError(f"cannot start {name}: the directory {cwd} does not exist")
    if name != Path(name).name:
        return _by_path(name, Path(cwd))
    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is not None:
        return str(Path(found).absolute())
    blocked = shutil.which(name, os.F_OK, env.get("PATH", os.defpath))
    if blocked is not None:
        raise AgentStartError(f"cannot start {name}: {blocked} is not executable")
    raise ProgramMissing(f"cannot start {name}: not found on PATH")


def explain(error: OSError | ValueError, argv: Sequence[str], cwd: str | Path) -> str:
    """One line for an error of the system's start call, after `find_program` found the program."""
    reason = str(error)
    if isinstance(error, OSError):
        reason = error.strerror or reason
        if error.errno == errno.ENOENT:
            reason = "the interpreter that its first line names does not exist"
        elif error.errno == errno.ENOEXEC:
            reason = "not a program: no known binary format and no #! line"
        elif error.errno == errno.EACCES and error.filename == str(cwd):
            reason = f"no permission to enter {cwd}"
    return f"cannot start {argv[0]}: {reason}"


def _by_path(name: str, cwd: Path) -> str:
    path = cwd / name
    found = shutil.which(path)
    if found is not None:
        return found
    if path.is_dir():
        raise AgentStartError(f"cannot start {name}: it is a directory")
    if path.exists():
        raise AgentStartError(f"cannot start {name}: {path} is not executable")
    raise ProgramMissing(f"cannot start {name}: no such file")
