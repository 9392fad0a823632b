"""A session that is closed and opened again at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.opening.session_params import SessionParams
from tests.support.memory_endpoint import MemoryEndpoint, Running


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": -32603, "message": "no"}}])
async def test_a_load_waits_for_the_answer_to_a_close_of_the_session(
    answer: dict[str, Any],
) -> None:
    async with Running(MemoryEndpoint()) as wire:
        agent = Agent(wire.endpoint)
        closing = asyncio.ensure_future(agent.close_session("s1"))
        [close] = await wire.get(1)
        assert close["method"] == "session/close"
        again = asyncio.ensure_future(agent.load_session("s1", "/w", SessionParams(), ()))
        other = asyncio.ensure_future(agent.resume_session("s2", "/w", SessionParams(), ()))
        [_, second] = await wire.get(2)
        assert (second["method"], second["params"]["sessionId"]) == ("session/resume", "s2")
        wire.put({"id": close["id"], **answer})
        [_, _, third] = await wire.get(3)
        assert (third["method"], third["params"]["sessionId"]) == ("session/load", "s1")
        wire.put({"id": second["id"], "result": {}}, {"id": third["id"], "result": {}})
        await asyncio.gather(closing, again, other, return_exceptions=True)
