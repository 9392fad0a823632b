"""Questions to the user by their own `vim.ui.select` and `vim.ui.input`, for secrets by
`inputsecret()`: frame operations out, the verbs `picked` and `typed` back.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

CHOICES = 2000
"""More is no list to choose from."""


class Asking:
    """Questions that are open, by id. `lua/acp/ui/pick.lua` puts them one at a time."""

    def __init__(self, push: Callable[..., None]) -> None:
        """`push` queues a frame operation."""
        self._push = push
        self._ids = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}

    async def choose(self, prompt: str, items: Sequence[Any], kind: str) -> int | None:
        """Return the 0-based index of what was chosen, None when nothing was.

        An item is a line, or a table with a `label` and a `preview`. `kind` reaches `vim.ui.select`
        as `acp_{kind}`.
        """
        if len(items) > CHOICES:
            prompt = f"{prompt} (the first {CHOICES:,} of {len(items):,})"
        index = await self.ask("select", prompt, kind, list(items[:CHOICES]))
        return index - 1 if isinstance(index, int) and 0 < index <= len(items) else None

    async def ask_text(self, prompt: str, default: str = "") -> str | None:
        """Return what was typed, None when the question was dismissed."""
        text = await self.ask("input", prompt, default)
        return text if isinstance(text, str) else None

    async def ask_secret(self, prompt: str) -> str | None:
        """Return what was typed where nobody can read it; None when the question was dismissed."""
        text = await self.ask("secret", prompt)
        return text if isinstance(text, str) else None

    async def ask(self, name: str, *args: Any) -> Any:
        """Push the operation `{name, id, …args}` and return what `answered` gets for that id."""
        number = next(self._ids)
        future = self._open[number] = asyncio.get_running_loop().create_future()
        self._push(name, number, *args)
        try:
            return await future
        finally:
            del self._open[number]

    def answered(self, number: object, value: Any) -> None:
        """Take an answer; one to a question that is not open any more is nothing."""
        future = self._open.get(number) if isinstance(number, int) else None
        if future is not None and not future.done():
            future.set_result(value)
