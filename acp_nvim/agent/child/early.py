"""Agent for the first prompt, started before the host has imported anything.

Importing the host takes longer than most programs take to start, so Lua describes the agent in an
environment variable of the host (`acp.base.host.early_agent`). The process is used only if
`StdioTransport` would start exactly the same one. Otherwise it is ended. This module imports almost
nothing.
"""

from __future__ import annotations

import os
import subprocess

from acp_nvim.agent.child import guard

TYPE_CHECKING = False
if TYPE_CHECKING:  # not needed to start a process
    from collections.abc import Mapping, Sequence
    from typing import IO, Final

VARIABLE: Final = "ACP_NVIM_EARLY_AGENT"
"""Environment variable that describes the agent.

It has one line each for the directory, the number of words, every word, and every `NAME=value` of
the agent's environment. `%` is written as `%25` and a newline as `%0A`.
"""


class EarlyAgent:
    """Started process whose output has not been read, and its guard."""

    def __init__(
        self, words: Sequence[str], cwd: str, env: Mapping[str, str], program: str
    ) -> None:
        """Start the guard and the process. Raise OSError or ValueError."""
        self.words, self.cwd, self.env, self.program = list(words), cwd, dict(env), program
        self.host_mark = guard.new_mark()
        self.mark = guard.child_mark(self.host_mark, 0)
        self.guard = guard.start(self.host_mark)
        try:
            self.process = self._start()
            self._register()
        except BaseException:
            self.guard.kill()  # there is nothing to guard
            self.guard.wait()
            self._guard_input().close()
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.program, *self.words[1:]],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env={**self.env, guard.CHILD: self.mark},
            start_new_session=True,
        )

    def _register(self) -> None:
        self._guard_input().write(f"+ {self.process.pid}\n".encode())

    def _guard_input(self) -> IO[bytes]:
        assert self.guard.stdin is not None
        return self.guard.stdin

    def matches(self, words: Sequence[str], cwd: str, env: Mapping[str, str], program: str) -> bool:
        """Return whether the process was started with exactly these values."""
        is_same = self.words == list(words) and os.path.normpath(self.program) == program
        return is_same and self.cwd == cwd and self.env == dict(env)


def start(text: str, env: Mapping[str, str]) -> EarlyAgent | None:
    """Start the agent that `VARIABLE` describes, with the environment `env`.

    Return None if that fails, since the later regular start reports the error.
    """
    cwd, count, *rest = (_plain(line) for line in text.split("\n"))
    words, own = rest[: int(count)], rest[int(count) :]
    env = {**env, **dict(line.split("=", 1) for line in own)}
    cwd = os.path.expanduser(cwd)
    program = _program(words[0], cwd, env.get("PATH", os.defpath))
    if program is None or not os.path.isdir(cwd):
        return None
    try:
        return EarlyAgent(words, cwd, env, program)
    except (OSError, ValueError):
        return None


def _plain(line: str) -> str:
    return line.replace("%0A", "\n").replace("%25", "%")


def _program(name: str, cwd: str, path: str) -> str | None:
    """Return the program's file if it is easy to find.

    Unlike `launch.find_program`, do not search a PATH with relative directories.
    """
    if "/" in name:
        program = os.path.join(cwd, name)
        return program if _is_executable(program) else None
    for folder in path.split(os.pathsep):
        if not os.path.isabs(folder):
            return None
        if _is_executable(program := os.path.join(folder, name)):
            return program
    return None


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
