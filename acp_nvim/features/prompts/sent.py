"""File that records which prompts were sent, beside the drafts (`acp.features.prompts.drafts`).

If Neovim is killed before it has recorded that a prompt was sent, the next Neovim must not put that
prompt into the composer again. Each line is `+` and the number of a prompt that is being sent, or
`-` and the number of a prompt that was returned unsent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from acp_nvim.session.prompts import Prompt


class SentPrompts:
    """Record of the prompts that all hosts of one Neovim have sent."""

    def __init__(self, problem: Callable[[str], None]) -> None:
        """`problem` is called once if the file cannot be written."""
        self.path: Path | None = None
        """Path of the file, or None before `on_setup`."""
        self._problem = problem
        self._has_failed = False
        self._is_closed = False

    def on_setup(self, args: Mapping[str, Any]) -> None:
        """Use the file named in Neovim's record of the previous host."""
        past = args.get("past") or {}
        if past.get("sent"):
            self.path = Path(past["sent"])

    def on_sent(self, prompt: Prompt) -> None:
        """Record that a prompt is being sent."""
        self._record("+", prompt)

    def on_returned(self, prompt: Prompt) -> None:
        """Record that a prompt is in the queue or in the composer again."""
        if not self._is_closed:
            self._record("-", prompt)

    def close(self) -> None:
        """Stop recording returned prompts, because Neovim has exited."""
        self._is_closed = True

    def tidy(self) -> None:
        """Delete the file if there are no drafts."""
        path = self.path
        if path is None or any(path.parent.glob(f"*.{path.stem}.*")):
            return
        with suppress(OSError):
            path.unlink(missing_ok=True)
            path.parent.rmdir()  # fails if it is not empty
            path.parent.parent.rmdir()

    def _record(self, sign: str, prompt: Prompt) -> None:
        if self.path is None or prompt.delivery is None:
            return
        try:
            self._append(self.path, f"{sign}{prompt.delivery}\n".encode())
        except OSError as error:
            if not self._has_failed:
                self._problem(f"{self.path}: {error.strerror}")
            self._has_failed = True

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
