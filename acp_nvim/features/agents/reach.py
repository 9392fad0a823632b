"""`python -m acp_nvim.features.agents.reach`: try to reach remote agents, for `:checkhealth acp`.

It reads the options of the verb `setup` from stdin. For each agent with a `via` or a `url`, it
writes to stdout whether the agent answers, and a line about it, all in one JSON object.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import msgspec

from acp_nvim import wording
from acp_nvim.agent.agent_env import AgentVariables
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.connection_options import client_capabilities
from acp_nvim.agent.remote_agents import Attempts, via_agent
from acp_nvim.agent.settings import AgentSettings, Settings, decode
from acp_nvim.agent.surroundings import AgentLaunch
from acp_nvim.agent.transport.base import AgentTransport, TransportError
from acp_nvim.agent.transport.stdio import StdioTransport
from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.features.agents import words
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.errors import RemoteProtocolError
from acp_nvim.protocol.jsonrpc import Peer, Response

TIME_LIMIT_S = 8.0
"""Time for one agent, in seconds."""


class ReachResult(msgspec.Struct):
    """Result of an attempt to reach an agent: whether it answers, and a line about it."""

    ok: bool
    text: str


async def reach_all(options: Settings) -> dict[str, ReachResult]:
    """Try to reach all remote agents at the same time. Return the results by name."""
    results: dict[str, ReachResult] = {}
    reaper = Reaper()
    launch = AgentLaunch(
        transport=partial(StdioTransport, reaper=reaper),
        reaper=reaper,
        cwd=lambda: str(Path.cwd()),
        env=agent_environment,
    )

    async def reach_one(name: str, spec: AgentSettings) -> None:
        results[name] = await _reach(name, spec, options, launch)

    async with anyio.create_task_group() as group:
        for name, spec in options.agents.items():
            if spec.is_remote:
                expanded = AgentVariables().expand(name, spec, agent_environment())
                group.start_soon(reach_one, name, expanded.spec)
    await reaper.aclose()
    return results


async def _reach(
    name: str, spec: AgentSettings, options: Settings, launch: AgentLaunch
) -> ReachResult:
    began, transport = time.monotonic(), None
    try:
        with anyio.fail_after(TIME_LIMIT_S):
            transport = await _open_transport(name, spec, options, launch)
            await transport.start()
            line = await _introduce(transport, options, 2 if spec.protocol == 2 else 1)
    except TimeoutError:
        return ReachResult(ok=False, text=words.WHY_REACH_SLOW.format(seconds=TIME_LIMIT_S))
    except (TransportError, RemoteProtocolError) as error:
        return ReachResult(ok=False, text=str(error))
    finally:
        if transport is not None:
            with anyio.CancelScope(shield=True):
                await transport.stop()
    return ReachResult(ok=True, text=line.format(seconds=time.monotonic() - began))


async def _open_transport(
    name: str, spec: AgentSettings, options: Settings, launch: AgentLaunch
) -> AgentTransport:
    if spec.via:
        agent = await via_agent(name, spec, launch)
        ignore: Callable[[bytes], None] = lambda data: None  # noqa: E731
        return agent.transport(1, ignore)
    limit = options.limits.message_bytes
    return Attempts(None).transport_to(spec, {}, launch.env(), limit, Traffic(0, "off", []))


async def _introduce(transport: AgentTransport, options: Settings, version: int) -> str:
    """Send `initialize`. Return a line about the agent's answer. Raise TransportError."""
    peer = Peer()
    request = schema.InitializeRequest(
        protocol_version=version, client_capabilities=client_capabilities(options)
    )
    transport.send(peer.request("initialize", request)[1])
    while data := await transport.receive():
        for event in peer.receive(data):
            if isinstance(event, Response):
                return _answer_line(event)
    raise transport.lost or TransportError(wording.WHY_CONNECTION_ENDED)


def _answer_line(response: Response) -> str:
    if response.result is None:
        reason = response.error.message if response.error else ""
        raise TransportError(words.WHY_REACH_REFUSED.format(reason=reason), again=False)
    result = codec.decode_result("initialize", response.result, [])
    info = result.agent_info or None
    name = f"{info.title or info.name} {info.version or ''}".strip() if info else "the agent"
    return words.PART_REACHED.format(
        name=name.replace("{", "(").replace("}", ")"), seconds="{seconds:.1f}"
    )


def main() -> None:
    options = decode(msgspec.json.decode(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(msgspec.json.encode(anyio.run(reach_all, options)))


if __name__ == "__main__":
    main()
