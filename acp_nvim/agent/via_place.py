"""Remote place, such as a container, in which an agent and its commands run (`agents.*.via`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.serving.commands import Command
from acp_nvim.agent.transport import via_guard
from acp_nvim.agent.transport.via import Via

GRACE_S = 1.0
"""Time that an agent has to exit after the end of its input, in seconds."""


class ViaCommand(Struct, frozen=True):
    """Local command, the first bytes of its stdin, and the receivers of its output and exit."""

    words: list[str]
    stdin: bytes
    feed: Callable[[bytes], None]
    on_end: Callable[[Exit], None]


class ViaPlace(Struct, frozen=True):
    """Place, the program that reaches it, and its directories."""

    via: Via
    env: Mapping[str, str]
    """Environment of the remote agent, in addition to that of a login shell."""
    directory: Callable[[str], str]
    """Function that returns the remote directory, or an empty string for the initial one."""
    covers: Callable[[str], bool]
    """Function that returns whether a directory of a session exists in the place."""

    def agent(self, words: Sequence[str], directory: str) -> list[str]:
        """Return the local command that runs the agent in the place."""
        guarded = via_guard.command(words, directory, GRACE_S, takes_relays=True)
        return self.via.command(guarded, directory)

    def link(self, words: Sequence[str]) -> list[str]:
        """Return the local command that runs a command for the editor's tools in the place."""
        return self.via.command(via_guard.command(words, "", 0))

    def login(self, words: Sequence[str], directory: str, variables: Iterable[str]) -> list[str]:
        """Return the local command that runs a remote program on the user's terminal.

        The values of `variables` are in the environment of the local command.
        """
        boot = 'cd "$1" 2>/dev/null; shift; exec "$@"'
        login = ["/bin/sh", "-lc", boot, "acp-nvim", directory or ".", *words]
        return self.via.command(login, directory, tty=True, variables=variables)

    def terminal(
        self,
        command: Command,
        mark: str,
        feed: Callable[[bytes], None],
        on_end: Callable[[Exit], None],
    ) -> ViaCommand:
        """Return the local command that runs a command of the agent in the place.

        `mark` marks the local process. `feed` receives the output.
        """
        directory, mark = self.directory(command.cwd), via_guard.mark_of(mark)
        words = self.via.command(via_guard.command(command.argv, directory, 0), directory)
        output = _GuardOutput(feed, mark)

        def end(exit: Exit) -> None:
            output.end()
            on_end(exit)

        return ViaCommand(words, via_guard.environment(command.env, mark), output.feed, end)


class _GuardOutput:
    """Filter that passes on the output of a command after the guard's line.

    If the command does not start, the end of its output is passed on when it has exited.
    """

    def __init__(self, feed: Callable[[bytes], None], mark: str) -> None:
        self._feed = feed
        self._mark = mark.encode() + b" "
        self._unread: bytes | None = b""
        """Output before the line, or None after it."""

    def feed(self, data: bytes) -> None:
        if self._unread is None:
            self._feed(data)
            return
        unread = self._unread + data
        self._unread = unread[-via_guard.MAX_BANNER :]
        _, mark, rest = unread.partition(self._mark + via_guard.READY.encode())
        _, ended, output = rest.partition(b"\n")
        if mark and ended:
            self._unread = None
            if output:
                self._feed(output)

    def end(self) -> None:
        """Pass on the reason why the command did not start."""
        if self._unread:
            self._feed(self._unread.replace(self._mark, b""))
        self._unread = None
