"""Questions to the user by `vim.ui.select`, `vim.ui.input` and `inputsecret()`.

A question is a frame operation. Its answer is the verb `picked` or `typed`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

MAX_CHOICES = 2000
"""Maximum number of items in a list."""


class Asking:
    """Open questions by id. `lua/acp/ui/pick.lua` shows them one at a time."""

    def __init__(self, push: Callable[..., None]) -> None:
        """`push` queues a frame operation."""
        self._push = push
        self._ids = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}

    async def choose(self, prompt: str, items: Sequence[Any], kind: str) -> int | None:
        """Return the 0-based index of the chosen item, or None if the user chose none.

        An item is a line, or a table with a `label` and a `preview`. `vim.ui.select` gets the kind
        `acp_{kind}`.
        """
        if len(items) > MAX_CHOICES:
            prompt = f"{prompt} (the first {MAX_CHOICES:,} of {len(items):,})"
        index = await self.ask("select", prompt, kind, list(items[:MAX_CHOICES]))
        return index - 1 if isinstance(index, int) and 0 < index <= len(items) else None

    async def ask_text(self, prompt: str, default: str = "") -> str | None:
        """Return the typed text, or None if the user dismissed the question."""
        text = await self.ask("input", prompt, default)
        return text if isinstance(text, str) else None

    async def ask_secret(self, prompt: str) -> str | None:
        """Return a text that was typed without echo, or None if the user dismissed the question."""
        text = await self.ask("secret", prompt)
        return text if isinstance(text, str) else None

    async def ask(self, name: str, *args: Any) -> Any:
        """Push the operation `{name, id, …args}` and return the value that `on_answer` gets."""
        number = next(self._ids)
        future = self._open[number] = asyncio.get_running_loop().create_future()
        self._push(name, number, *args)
        try:
            return await future
        finally:
            del self._open[number]

    def on_answer(self, number: object, value: Any) -> None:
        """Set the answer to a question. Ignore it if the question is no longer open."""
        future = self._open.get(number) if isinstance(number, int) else None
        if future is not None and not future.done():
            future.set_result(value)
