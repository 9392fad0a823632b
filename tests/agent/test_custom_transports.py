"""Transports of installed packages, by entry point, and the error if there is none."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from acp_nvim.agent.transport.base import TransportError
from tests.support.entry_points import install_entry_point
from tests.support.remote_client import reached


async def refusal(url: str) -> str:
    with pytest.raises(TransportError) as refused:
        async with reached(url):
            pass
    assert not refused.value.again or "transport failed" in str(refused.value)
    return str(refused.value)


async def test_an_unknown_scheme_lists_the_known_ones() -> None:
    text = await refusal("carrier-pigeon://roof")
    assert text.startswith("no transport for carrier-pigeon:// is installed. Installed: http, ")


async def test_a_transport_that_does_not_load_or_lacks_a_method_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    install_entry_point(tmp_path, "broken", "broken:Way", "raise RuntimeError('no')")
    install_entry_point(
        tmp_path, "lacking", "lacking:Way", "class Way:\n  def __init__(self, address): ..."
    )
    code = """class Way:
    def __init__(self, address): ...
    async def start(self): raise OSError('nobody there')
    async def receive(self): return b''
    def send(self, data): ...
    async def aclose(self): ...
"""
    install_entry_point(tmp_path, "failing", "failing:Way", code)
    assert "broken:// does not load: RuntimeError: no" in await refusal("broken://x")
    assert "lacks start, receive, send, aclose" in await refusal("lacking://x")
    assert await refusal("failing://x") == "the transport failed: OSError: nobody there"


async def test_a_transport_is_closed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    code = """import anyio
class Way:
    def __init__(self, address): self.closing = False
    async def start(self): ...
    async def receive(self): await anyio.sleep_forever()
    def send(self, data): ...
    async def aclose(self):
        assert not self.closing
        self.closing = True
        await anyio.lowlevel.checkpoint()
"""
    install_entry_point(tmp_path, "once", "once:Way", code)
    async with reached("once://x") as client, anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(client.transport.stop)
    assert client.remarks == []


async def test_a_transport_that_never_ends_or_closes_delays_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    code = """import asyncio
class Way:
    def __init__(self, address): ...
    async def start(self): ...
    async def receive(self): await asyncio.Event().wait()
    def send(self, data): raise RuntimeError('full')
    async def aclose(self): raise RuntimeError('stuck')
"""
    install_entry_point(tmp_path, "stuck", "stuck:Way", code)
    async with reached("stuck://x") as client, anyio.create_task_group() as group:
        group.start_soon(client.end)
        client.send(id=1)
        await anyio.wait_all_tasks_blocked()
        await client.transport.stop()
    assert "RuntimeError: full" in "".join(client.remarks)
    assert "RuntimeError: stuck" in "".join(client.remarks)
