"""Remote commands, run through a local program (option `agents.*.via`)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Final

from msgspec import Struct

from acp_nvim import wording
from acp_nvim.agent.settings import AgentSettings
from acp_nvim.agent.transport.base import TransportError

_CONTAINERS: Final = frozenset(("docker", "podman", "nerdctl", "kubectl"))
_TTY: Final = {
    "ssh": {"-t": "", "-tt": ""},
    "exec": {"-t": "", "--tty": "", "-it": "-i", "-ti": "-i"},
}
"""Arguments that request a terminal, and their replacements, by program."""


class Via(Struct, frozen=True):
    """Program, with arguments, that runs a remote command."""

    words: tuple[str, ...]
    takes_directory: bool = False
    """Whether option `-w` sets the directory."""

    @property
    def program(self) -> str:
        """Return the name of the program without its directory."""
        return PurePath(self.words[0]).name

    @property
    def is_ssh(self) -> bool:
        return self.program == "ssh"

    @property
    def passes_variables(self) -> bool:
        """Return whether the program can pass on variables of the local environment by name."""
        return self.program not in ("kubectl", "devcontainer")

    def command(
        self,
        words: Sequence[str],
        directory: str = "",
        *,
        tty: bool = False,
        variables: Iterable[str] = (),
    ) -> list[str]:
        """Return the local command that runs `words` in the remote place.

        `variables` are passed on by name, if the program and the server permit it.
        """
        program, *arguments = self._without_tty()
        if self.is_ssh:
            # A login may ask for a password. ssh joins the words of the command with spaces.
            options = ["-t"] if tty else ["-T", "-o", "BatchMode=yes"]
            options += [word for name in variables for word in ("-o", f"SendEnv={name}")]
            return [program, *options, *arguments, shlex.join(words)]
        if "exec" in arguments:
            at = arguments.index("exec") + 1
            if arguments[at : at + 1] == ["-i"]:
                at += 1
            arguments[at:at] = self._exec_options(directory, variables, tty=tty)
        return [program, *arguments, *words]

    def _exec_options(self, directory: str, variables: Iterable[str], *, tty: bool) -> list[str]:
        """Return the options of `exec` that set the terminal, the directory and variables."""
        options = ["-t"] if tty and self.program in _CONTAINERS else []
        if self.takes_directory and directory:
            options += ["-w", directory]
        if self.program in _CONTAINERS - {"kubectl"}:
            options += [word for name in variables for word in ("-e", name)]
        return options

    def _without_tty(self) -> list[str]:
        kind = "ssh" if self.is_ssh else "exec" if self.program in _CONTAINERS else ""
        instead = _TTY.get(kind, {})
        return [word for original in self.words if (word := instead.get(original, original))]

    def __str__(self) -> str:
        return shlex.join(self.words)


def via_of(spec: AgentSettings, words: Sequence[str] | None, folder: str) -> Via:
    """Return the program that reaches an agent. Raise TransportError.

    `words` is the result of the user's function, if any. `folder` is the workspace of a
    `devcontainer`.
    """
    given = spec.via if words is None else list(words)
    if isinstance(given, list):
        if not given or not all(given):
            raise TransportError(wording.WHY_VIA_WORDS, again=False)
        return Via(tuple(given))
    if given == "ssh":
        return Via(("ssh", _required(spec.host, "host")))
    if given == "docker":
        container = _required(spec.container, "container")
        return Via(("docker", "exec", "-i", container), takes_directory=True)
    if given == "kubectl":
        pod = _required(spec.pod, "pod")
        within = ["-c", spec.container] if spec.container else []
        return Via(("kubectl", "exec", "-i", pod, *within, "--"))
    if given == "devcontainer":
        return Via(("devcontainer", "exec", "--workspace-folder", folder))
    raise TransportError(wording.WHY_VIA_UNKNOWN.format(via=given), again=False)


def _required(value: str | None, option: str) -> str:
    if not value or value.startswith("-"):
        raise TransportError(wording.WHY_VIA_NEEDS.format(option=option), again=False)
    return value
