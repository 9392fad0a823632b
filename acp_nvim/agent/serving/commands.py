"""Translation of `terminal/create` requests into commands: argv, directory, environment."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from acp_nvim.agent.child.launch import AgentStartError, find_program
from acp_nvim.agent.opening.shown_values import shown_value
from acp_nvim.patterns import late
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import INVALID_PARAMS, RESOURCE_NOT_FOUND, RequestError
from acp_nvim.session.output.terminal import Launch
from acp_nvim.session.questions import requests

_PLAIN_WORD: Final = late(r"[\w@%+=:,./-]+")
_FIXED: Final = {"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat"}
_DROPPED: Final = ("COLUMNS", "LINES")
"""Variables that would contradict the size of the terminal."""


class Command(Struct, frozen=True):
    """Command that is ready to start.

    `line` is for display. Rules apply to `judged`, which has the argv or a shell command line.
    """

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    line: str
    judged: requests.Command
    shown: Launch


def command_of(
    params: schema.CreateTerminalRequest,
    base: Mapping[str, str],
    session_cwd: str,
    *,
    is_here: bool = True,
) -> Command:
    """Return the command to start. `base` is the agent's environment.

    Unless `is_here`, the command will run in another place, where nothing can be checked now. Raise
    RequestError with `data = {command, reason}` or `{cwd, reason}`.
    """
    cwd = _directory(params.cwd or session_cwd, is_here=is_here)
    added = {item.name: item.value for item in params.env or ()}
    env = {k: v for k, v in {**base, **_FIXED}.items() if k not in _DROPPED} | added
    line = shlex.join([params.command, *params.args]) if params.args else params.command
    argv = _argv(params, cwd, env, base, is_here=is_here)
    variables = tuple(added.items())
    beside = ("terminal/create", cwd, variables)
    if argv == [params.command, *(params.args or ())]:
        command = requests.command(argv, *beside)
    else:
        command = requests.Command(params.command, None, *beside)
    shown = Launch(
        line,
        None if cwd == session_cwd else cwd,
        [(k, shown_value(k, v)) for k, v in added.items()],
    )
    return Command(argv, cwd, env, line, command, shown)


def _directory(path: str, *, is_here: bool) -> str:
    if not Path(path).is_absolute():
        raise RequestError(
            INVALID_PARAMS, f"cwd is not absolute: {path}", {"cwd": path, "reason": "relative"}
        )
    if is_here and not os.path.isdir(path):  # noqa: PTH112 - raises nothing
        raise RequestError(
            RESOURCE_NOT_FOUND,
            f"there is no directory {path}",
            {"cwd": path, "reason": "missing"},
        )
    return path


def _argv(
    params: schema.CreateTerminalRequest,
    cwd: str,
    env: Mapping[str, str],
    base: Mapping[str, str],
    *,
    is_here: bool,
) -> list[str]:
    """Return the argv. Use a shell only for a line without arguments that names no program.

    The shell comes from the user's environment (`base`), never from the request.
    """
    argv = [params.command, *(params.args or ())]
    is_line = not params.args and params.command.strip() and not _is_word(params.command)
    if not is_here:
        return ["/bin/sh", "-c", params.command] if is_line else argv
    problem = unstartable(argv, cwd, env)
    if problem is None:
        return argv
    if not is_line:
        raise problem
    return [_shell(base), "-c", params.command]


def _is_word(text: str) -> bool:
    return _PLAIN_WORD.fullmatch(text) is not None


def unstartable(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> RequestError | None:
    """Return an error if the program cannot be started, otherwise None."""
    try:
        find_program(argv, cwd, env)
    except (AgentStartError, ValueError) as error:
        data = {"command": argv[0], "reason": "missing"}
        return RequestError(RESOURCE_NOT_FOUND, str(error), data)
    return None


def _shell(env: Mapping[str, str]) -> str:
    shell = env.get("SHELL", "")
    usable = Path(shell).name in requests.SHELLS and os.access(shell, os.X_OK)
    return shell if usable else "/bin/sh"
