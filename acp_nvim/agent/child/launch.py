"""Start of programs, with a one-line explanation of a failure."""

import asyncio
import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from acp_nvim import wording
from acp_nvim.agent.child.reaper import Reaper


class AgentStartError(Exception):
    """Failure to start a program.

    The message has the program and the reason, in one line for users.
    """


class ProgramMissing(AgentStartError):
    """Failure to start a program that is not installed."""


async def spawn(
    protocol: asyncio.SubprocessProtocol,
    argv: Sequence[str],
    *,
    cwd: str | Path,
    env: Mapping[str, str],
    reaper: Reaper,
    by: Sequence[str] = (),
    streams: int = asyncio.subprocess.PIPE,
    stdin: int | None = None,
) -> asyncio.SubprocessTransport:
    """Start `argv` in its own session, through the program `by` if given.

    First start the guard of `reaper`. A cancellation takes effect only after the start. Raise
    AgentStartError.
    """
    program = find_program(argv, cwd, env)
    with anyio.CancelScope(shield=True):
        reaper.start()
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: protocol,
                *(*by, program, *argv[1:]),
                stdin=streams if stdin is None else stdin,
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
    """Return the file of `argv[0]`, from the PATH of `env`, or from `cwd` if it has a slash.

    Raise AgentStartError if the command is empty, `cwd` is not a directory, or there is no such
    program.
    """
    if not argv or not argv[0]:
        raise AgentStartError(wording.NO_COMMAND)
    name = argv[0]
    if not os.path.isdir(cwd):  # noqa: PTH112 - raises nothing
        reason = wording.WHY_NO_DIRECTORY.format(folder=cwd)
        raise AgentStartError(wording.CANNOT_START.format(program=name, reason=reason))
    if name != Path(name).name:
        return _program_at(name, Path(cwd))
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is not None:
        return str(Path(path).absolute())
    blocked = shutil.which(name, os.F_OK, env.get("PATH", os.defpath))
    if blocked is not None:
        reason = wording.WHY_NOT_EXECUTABLE.format(file=blocked)
        raise AgentStartError(wording.CANNOT_START.format(program=name, reason=reason))
    raise ProgramMissing(wording.CANNOT_START.format(program=name, reason=wording.WHY_NOT_ON_PATH))


def explain(error: OSError | ValueError, argv: Sequence[str], cwd: str | Path) -> str:
    """Return a line that explains why the system could not start an existing program."""
    reason = str(error)
    if isinstance(error, OSError):
        reason = error.strerror or reason
        if error.errno == errno.ENOENT:
            reason = wording.WHY_NO_INTERPRETER
        elif error.errno == errno.ENOEXEC:
            reason = wording.WHY_NO_PROGRAM
        elif error.errno == errno.EACCES and error.filename == str(cwd):
            reason = wording.WHY_NO_ENTRY.format(folder=cwd)
    return wording.CANNOT_START.format(program=argv[0], reason=reason)


def _program_at(name: str, cwd: Path) -> str:
    path = cwd / name
    if shutil.which(path) is not None:
        return str(path)
    if os.path.isdir(path):  # noqa: PTH112
        raise AgentStartError(
            wording.CANNOT_START.format(program=name, reason=wording.WHY_DIRECTORY)
        )
    if os.path.exists(path):  # noqa: PTH110
        reason = wording.WHY_NOT_EXECUTABLE.format(file=path)
        raise AgentStartError(wording.CANNOT_START.format(program=name, reason=reason))
    raise ProgramMissing(wording.CANNOT_START.format(program=name, reason=wording.WHY_NO_FILE))
