"""Notes on prompts that went to an agent, beside the drafts of Neovim on disk.

If Neovim is killed before it has written that a prompt is sent, the next Neovim must not restore
the prompt as a draft (`acp.features.prompts.drafts`).

A line is `+` and a prompt's number once it is on its way to the agent, `-` and the number where it
came back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from acp_nvim.session.prompts import Prompt


class SentPrompts:
    """The notes of one Neovim, of all its hosts."""

    def __init__(self, problem: Callable[[str], None]) -> None:
        """`problem` hears, once, that nothing can be written."""
        self.path: Path | None = None
        """Where they are; nothing is noted before `keep_in`."""
        self._problem = problem
        self._failed = False
        self._closed = False

    def keep_in(self, path: Path) -> None:
        """Note in this file from now on."""
        self.path = path

    def went(self, prompt: Prompt) -> None:
        """The agent gets it now."""
        self._note("+", prompt)

    def came_back(self, prompt: Prompt) -> None:
        """It waits again, or the user has it."""
        if not self._closed:
            self._note("-", prompt)

    def close(self) -> None:
        """Neovim has gone: nobody gets a prompt back while agents are ended."""
        self._closed = True

    def tidy(self) -> None:
        """The host ends: where no draft is kept the notes are of no use."""
        path = self.path
        if path is None or any(path.parent.glob(f"*.{path.stem}.*")):
            return
        with suppress(OSError):
            path.unlink(missing_ok=True)
            path.parent.rmdir()  # fails where others keep something
            path.parent.parent.rmdir()

    def _note(self, sign: str, prompt: Prompt) -> None:
        if self.path is None or prompt.delivery is None:
            return
        try:
            self._append(self.path, f"{sign}{prompt.delivery}\n".encode())
        except OSError as error:
            if not self._failed:
                self._problem(f"{self.path}: {error.strerror}")
            self._failed = True

    def _append(self, path: Path, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            file = os.open(path, flags, 0o600)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(path, flags, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)
