"""The agent of a first prompt, started before the host has imported anything.

Lua knows how that agent is started, says so in a variable of the host's environment
(`lua/acp/base/early_agent.lua`), and Python takes longer to import the host than most programs to
start. What was started here is only ever used as the process that `StdioTransport` would start
itself; where one thing differs it is ended. This module imports next to nothing.
"""

from __future__ import annotations

import os
import subprocess

from acp_nvim.agent.child import guard

TYPE_CHECKING = False
if TYPE_CHECKING:  # neither is needed to start a process
    from collections.abc import Mapping, Sequence
    from typing import IO, Final

VARIABLE: Final = "ACP_NVIM_EARLY_AGENT"
"""Directory, number of words, words, then `NAME=value` of its own environment; a line each, with
`%` as `%25` and a line's end as `%0A`.
"""


class EarlyAgent:
    """A process that nobody speaks to yet, with a guard that knows it."""

    def __init__(
        self, words: Sequence[str], cwd: str, env: Mapping[str, str], program: str
    ) -> None:
        """Start guard and process. Raises OSError, ValueError."""
        self.words, self.cwd, self.env, self.program = list(words), cwd, dict(env), program
        self.host_mark = guard.new_mark()
        self.mark = guard.child_mark(self.host_mark, 0)
        self.guard = guard.start(self.host_mark)
        try:
            self.process = self._start()
            self._tell_guard()
        except BaseException:
            self.guard.kill()  # it guards nothing
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

    def _tell_guard(self) -> None:
        self._guard_input().write(f"+ {self.process.pid}\n".encode())

    def _guard_input(self) -> IO[bytes]:
        assert self.guard.stdin is not None
        return self.guard.stdin

    def is_for(self, words: Sequence[str], cwd: str, env: Mapping[str, str], program: str) -> bool:
        """Whether it is the process that this asks for, to the letter."""
        same = self.words == list(words) and os.path.normpath(self.program) == program
        return same and self.cwd == cwd and self.env == dict(env)


def start(text: str, env: Mapping[str, str]) -> EarlyAgent | None:
    """Start the agent that `VARIABLE` describes, over the environment `env`; None where that cannot
    be done: what is wrong is told when it is tried again.
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
    """The file that starts, where that is plain: as `launch.find_program`, but for a PATH that
    begins with relative directories.
    """
    if "/" in name:
        found = os.path.join(cwd, name)
        return found if _is_executable(found) else None
    for folder in path.split(os.pathsep):
        if not os.path.isabs(folder):
            return None
        if _is_executable(found := os.path.join(folder, name)):
            return found
    return None


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
