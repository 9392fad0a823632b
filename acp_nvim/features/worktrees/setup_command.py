"""The user's command that sets up a worktree (option `worktrees.setup`)."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import anyio

from acp_nvim.agent.child.guard import CHILD
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.child.pty import PtyProcess
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.child.tree import end_marked
from acp_nvim.agent.serving.consent import Project, QuestionTexts
from acp_nvim.features.worktrees import words
from acp_nvim.session import ids
from acp_nvim.session.output.terminal import Launch
from acp_nvim.session.session import Session

TEXTS: Final = QuestionTexts(
    words.ASK_SETUP,
    (
        words.OPTION_SET_UP,
        words.OPTION_SET_UP_ALWAYS,
        words.OPTION_NO_SETUP,
        words.OPTION_NEVER_SET_UP,
    ),
)
OUTPUT: Final = 1 << 20
"""Maximum number of stored bytes of the output."""


def line_of(command: str | Sequence[str]) -> str:
    """Return the command as a line of a shell."""
    return command if isinstance(command, str) else shlex.join(command)


def question(command: str | Sequence[str], tree: str, folder: str) -> Project:
    """Return the subject of the question whether a command may run in a folder.

    An answer is kept for the command and the repository with the top `tree`.
    """
    line = line_of(command)
    digest = hashlib.sha256(repr(command).encode()).hexdigest()
    where = words.PART_IN_FOLDER.format(folder=folder)
    return Project(tree, digest, (), (line, where), line)


class Setup:
    """The command of one worktree, from the question to its end."""

    def __init__(
        self, session: Session, reaper: Reaper, env: Mapping[str, str], kill_s: Callable[[], float]
    ) -> None:
        self._session = session
        self._reaper = reaper
        self._env = env
        self._kill_s = kill_s
        self._process: PtyProcess | None = None
        self._is_running = self._is_stopped = False
        self.over = anyio.Event()
        """Set when the command has ended or will not run."""

    async def run(
        self, command: str | Sequence[str], on_end: Callable[[], Awaitable[None]]
    ) -> None:
        """Run the command in the session's directory, with its output in the chat.

        Prompts wait until `on_end` is done as well.
        """
        self._is_running = True
        try:
            await self._run(command)
            self._is_running = False
            await on_end()
        finally:
            self.over.set()

    async def _run(self, command: str | Sequence[str]) -> None:
        """Run the command in a terminal of the chat, and report how it ended."""
        session, line = self._session, line_of(command)
        mark = self._reaper.mark()
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        terminal = session.terminals.new(ids.new("term-"), Launch(line), OUTPUT, is_hosted=True)
        try:
            self._process = await PtyProcess.start(
                argv,
                cwd=session.cwd,
                env={**self._env, CHILD: mark},
                reaper=self._reaper,
                feed=terminal.feed,
                on_end=lambda end: terminal.end(end.code, end.signal),
                kill_s=self._kill_s(),
            )
        except AgentStartError as error:
            session.notice("error", words.SETUP_FAILED.format(reason=error))
            return
        session.terminals.add(terminal)
        if self._is_stopped:
            self._process.begin_stop()
        end = await self._process.wait()
        if self._is_stopped:
            await end_marked(mark, self._kill_s())  # daemons that it started
            session.notice("warning", words.SETUP_STOPPED)
        elif end.code == 0:
            session.notice("info", words.SET_UP)
        else:
            session.notice("error", words.SETUP_FAILED.format(reason=end))

    def stop(self) -> bool:
        """End the command. Return False if it is not running."""
        if not self._is_running:
            return False
        self._is_stopped = True
        if self._process is not None:
            self._process.begin_stop()
        return True
