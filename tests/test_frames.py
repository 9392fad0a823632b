"""Frames: what goes wrong with one is told, and is not the end of them."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from acp_nvim.editor.bridge import Bridge
from acp_nvim.editor.frames import Frames


class Neovim:
    """Takes frames."""

    def __init__(self) -> None:
        self.frames: list[list[Any]] = []
        self.came = asyncio.Event()

    def call(self, module: str, function: str, ops: list[Any]) -> asyncio.Future[Any]:
        assert (module, function) == ("acp.frame", "apply")
        self.frames.append(ops)
        self.came.set()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        answer.set_result({"us": 10, "errors": []})
        return answer


async def test_a_frame_that_cannot_be_made_is_not_the_last_one() -> None:
    neovim, told = Neovim(), asyncio.Event()
    problems: list[str] = []
    ready = False

    def collect(budget: int) -> tuple[list[list[Any]], bool]:
        if not ready:
            raise KeyError("line")
        return [["echo", "info", "hello"]], False

    def failed(problem: str) -> None:
        problems.append(problem)
        told.set()

    frames = Frames(cast("Bridge", neovim), collect, failed)
    task = asyncio.create_task(frames.run())
    frames.wake()
    await asyncio.wait_for(told.wait(), 5)
    ready = True
    frames.wake()
    await asyncio.wait_for(neovim.came.wait(), 5)
    task.cancel()
    assert problems == ["frame: KeyError: 'line'"]
    assert neovim.frames == [[["echo", "info", "hello"]]]
