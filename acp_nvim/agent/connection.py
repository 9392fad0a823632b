"""One run of an agent: process, endpoint, handshake, end. A connection is disposable; a new one
replaces it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.client import Client, FileServer
from acp_nvim.agent.endpoint import Endpoint
from acp_nvim.agent.oddities import Oddities
from acp_nvim.agent.process import AgentProcess, Exit
from acp_nvim.agent.pty import AVAILABLE
from acp_nvim.agent.reaper import Reaper
from acp_nvim.agent.settings import AgentSettings, Settings
from acp_nvim.agent.terminals import AgentTerminals
from acp_nvim.agent.traffic import Traffic
from acp_nvim.protocol import schema
from acp_nvim.protocol.jsonrpc import Peer

Status = Literal["starting", "ready", "auth_required", "exited", "failed"]


@dataclass(slots=True)
class Surroundings:
    """What every connection of a host shares."""

    settings: Callable[[], Settings]
    files: FileServer
    reaper: Reaper
    tasks: TaskGroup
    gate: Callable[[], Awaitable[object]]
    changed: Callable[[Connection], None]
    ended: Callable[[Connection], None]
    env: Callable[[], Mapping[str, str]]


class Connection:
    """An agent that is starting, running or gone."""

    def __init__(self, name: str, spec: AgentSettings, around: Surroundings) -> None:
        """Nothing is started yet."""
        self.name = name
        self.spec = spec
        self.status: Status = "starting"
        self.error: str | None = None
        self.exit: Exit | None = None
        self.stopping = False
        self.oddities = Oddities()
        self.traffic = Traffic(around.settings().log.bytes)
        self.terminals = AgentTerminals(
            name, around.settings, around.reaper, lambda: {**around.env(), **spec.env}
        )
        self.client = Client(name, around.settings, around.files, self.terminals, self.oddities)
        self.process: AgentProcess | None = None
        self._around = around
        self._ready = anyio.Event()
        self._ended = anyio.Event()
        self._agent: Agent | None = None

    @property
    def agent(self) -> Agent:
        """Outgoing calls; there once the process runs."""
        assert self._agent is not None
        return self._agent

    @property
    def alive(self) -> bool:
        """Whether calls make sense."""
        return self.status in ("starting", "ready", "auth_required") and not self.stopping

    @property
    def title(self) -> str:
        """The agent's name for people."""
        info = self._agent.info if self._agent else None
        return (info and (info.title or info.name)) or self.spec.title or self.name.capitalize()

    def start(self) -> None:
        """Start in the background; `ready` waits for the outcome."""
        self._around.tasks.start_soon(self._run)

    async def ready(self) -> bool:
        """Wait for the handshake; False when the agent failed to start (`error` says why)."""
        await self._ready.wait()
        return self.status in ("ready", "auth_required")

    async def ended(self) -> None:
        """Wait until the process is gone and everybody has been told."""
        await self._ended.wait()

    async def stop(self) -> None:
        """End the process tree and wait until it is gone."""
        self.stopping = True
        if self.process is not None:
            await self.process.stop()
            await self._ended.wait()

    async def _run(self) -> None:
        try:
            await self._launch()
        except Exception as error:
            self._fail(str(error) or type(error).__name__)
            if self.process is not None:
                await self.process.stop()
        finally:
            self._ready.set()
            self._ended.set()

    async def _launch(self) -> None:
        settings = self._around.settings()
        self.process = process = await AgentProcess.start(
            self.spec.command,
            cwd=self.spec.cwd or Path.cwd(),
            env={**self._around.env(), **self.spec.env},
            reaper=self._around.reaper,
            kill_s=settings.timeouts.kill_s,
        )
        peer = Peer(settings.limits.message_bytes)
        endpoint = Endpoint(
            process, self.client, peer=peer, traffic=self.traffic, gate=self._around.gate
        )
        self._agent = Agent(endpoint)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._handshake)
            await endpoint.run()
            self.exit = await process.wait()
            self._gone()
            tasks.cancel_scope.cancel()

    async def _handshake(self) -> None:
        try:
            await self.agent.initialize(client_capabilities(self._around.settings()))
        except Exception as error:
            if self.exit is None and self.process is not None and self.process.exit is None:
                self._fail(str(error) or type(error).__name__)
                await self.process.stop()
            return
        self.status = "ready"
        self._ready.set()
        self._around.changed(self)

    def _fail(self, reason: str) -> None:
        self.status, self.error = "failed", reason
        self._around.changed(self)
        self._ready.set()

    def _gone(self) -> None:
        """The process ended: during the handshake that is a failure, later an exit."""
        failed = self.status == "starting"
        if self.status != "failed":
            self.status = "failed" if failed else "exited"
            self.error = None if self.stopping else self.epitaph()
        self.terminals.forget()
        self._around.ended(self)
        self._ready.set()

    def epitaph(self) -> str:
        """How the agent ended, in one line."""
        return f"{self.name} ended: {self.exit}" if self.exit else f"{self.name} ended"

    def last_words(self, lines: int = 5) -> list[str]:
        """The newest lines of stderr."""
        return self.process.stderr.tail(lines) if self.process else []

    def snapshot(self) -> dict[str, object]:
        """What `state().agents[name]` shows."""
        return {"status": self.status, "error": self.error, "pid": self._pid()} | self._known()

    def _pid(self) -> int | None:
        return self.process.pid if self.process and self.process.exit is None else None

    def _known(self) -> dict[str, object]:
        agent = self._agent
        return {
            "protocol": agent.protocol if agent else None,
            "info": agent.info if agent else None,
            "capabilities": agent.capabilities if agent else None,
            "auth_methods": list(agent.auth_methods) if agent else [],
        }


def client_capabilities(settings: Settings) -> schema.ClientCapabilities:
    """Everything that works here, and nothing that does not (v1/initialization)."""
    return schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
        terminal=settings.terminal.enabled and AVAILABLE,
        session=schema.ClientSessionCapabilities(
            config_options=schema.SessionConfigOptionsCapabilities(
                boolean=schema.BooleanConfigOptionCapabilities()
            ),
            notices=schema.NoticeCapabilities(),
            compaction=schema.CompactionCapabilities(),
        ),
        meta={"terminal_output": True},
    )
