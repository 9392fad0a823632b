"""Whether the agent of a turn may have run git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from acp_nvim.files.ports import ToolCall

_GIT: Final = re.compile(r"(?<![\w.-])(?:git|gh|jj|hub|glab)(?![\w.-])")


class GitUse:
    """What the tool calls and terminals of one turn tell of git."""

    def __init__(self) -> None:
        self._without = set[ToolCall]()
        """Tool calls that run no git, as far as they tell."""
        self._terminal = 0
        """When a terminal was started that runs git, in nanoseconds; 0: there is none."""

    def judge(self, call: ToolCall, lines: Iterable[str], *, is_harmless: bool) -> None:
        """Take up the title and the commands of a call; without git it is harmless if these are all
        that it does.
        """
        if is_harmless and not any(map(runs_git, lines)):
            self._without.add(call)
        else:
            self._without.discard(call)

    def start(self, line: str, at: int) -> None:
        """Take up the command of a terminal that was started at this time, in nanoseconds."""
        if runs_git(line):
            self._terminal = self._terminal or at

    def may_have_run(
        self, calls: Mapping[ToolCall, tuple[int, int]], first: int, last: int, late: int
    ) -> bool:
        """Whether git may have run between two times, in nanoseconds. ``calls`` has the times at
        which tool calls began and ended (0: not yet); each may have begun ``late`` before that.
        """
        if self._terminal and self._terminal <= last:
            return True
        return any(
            began - late <= last and (not ended or ended >= first)
            for call, (began, ended) in calls.items()
            if call not in self._without
        )


def runs_git(line: str) -> bool:
    """Whether a command runs git, as far as it tells."""
    return _GIT.search(line) is not None
