"""Detection of git in the tool calls and terminals of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from acp_nvim.files.ports import ToolCall
from acp_nvim.patterns import late

LATE_NS: Final = 2_000_000_000
"""Maximum time by which a tool call that names git may be reported late."""

_GIT: Final = late(r"(?<![\w.-])(?:git|gh|jj|hub|glab)(?![\w.-])")


class GitUse:
    """Uses of git by the tool calls and terminals of one turn."""

    def __init__(self) -> None:
        self._without = set[ToolCall]()
        """Tool calls that, by their title and commands, do not run git."""
        self._named = set[ToolCall]()
        """Tool calls whose title or commands name git."""
        self._terminal = 0
        """Start of the first terminal that runs git, in nanoseconds; 0 if there is none."""

    def examine_call(self, call: ToolCall, lines: Iterable[str], *, is_harmless: bool) -> None:
        """Examine the title and the commands of a call.

        With `is_harmless`, the call does not run git unless these lines name it.
        """
        if any(map(names_git, lines)):
            self._named.add(call)
            self._without.discard(call)
        elif is_harmless:
            self._without.add(call)
        else:
            self._without.discard(call)

    def examine_terminal(self, line: str, at: int) -> None:
        """Examine the command of a terminal that started at a time in nanoseconds."""
        if names_git(line):
            self._terminal = self._terminal or at

    def may_have_run(
        self, calls: Mapping[ToolCall, tuple[int, int]], first: int, last: int, late: int
    ) -> bool:
        """Return whether git may have run between two times, in nanoseconds.

        `calls` has the start and end of tool calls (0: still running). A call may have started up
        to `late` before its recorded start, or up to `LATE_NS` if it names git.
        """
        if self._terminal and self._terminal <= last:
            return True
        return any(
            began - (LATE_NS if call in self._named else late) <= last
            and (not ended or ended >= first)
            for call, (began, ended) in calls.items()
            if call not in self._without
        )


def names_git(line: str) -> bool:
    """Return whether a command line names git."""
    return _GIT.search(line) is not None
