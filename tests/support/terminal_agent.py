r"""Agent that uses terminals, without Neovim; the fixture `agent` is one.

Example:

    output = await agent.run("echo hi")
    assert output.output == "hi\n"
    agent.rows()  # as the chat shows it
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import anyio

from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.serving.terminals import AgentTerminals
from acp_nvim.agent.settings import Settings, decode
from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.protocol import schema
from acp_nvim.render.calls.tools import Style, draw
from acp_nvim.render.entry_rows import draw_entry
from acp_nvim.session.session import NoObserver, Session
from acp_nvim.session.transcript.entries import TerminalEntry, ToolEntry
from tests.support.processes import MARK, marked
from tests.support.waiting import PATIENCE_S


class TerminalAgent(NoObserver):
    """One session of an agent; requests take the same path as those from the wire."""

    def __init__(self, cwd: Path, **options: Any) -> None:
        self.mark = uuid.uuid4().hex
        self.cwd = cwd
        self.settings: Settings = decode({"timeouts": {"kill_s": 0.3}, **options})
        self.changes = 0
        """Number of changes that the session has reported."""
        self.session = Session(1, "agent", str(cwd), observer=self)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(cwd), MARK: self.mark}
        self.reaper = Reaper()
        self.terminals = AgentTerminals(
            "agent", lambda: self.settings, self.reaper, lambda: self.env
        )

    def on_change(self, session: Session) -> None:
        self.changes += 1

    async def ask(self, method: str, session: Session | None = None, **params: Any) -> Any:
        """Send a request. Raise RequestError for a refusal."""
        kind = {
            "create": schema.CreateTerminalRequest,
            "output": schema.TerminalOutputRequest,
            "wait_for_exit": schema.WaitForTerminalExitRequest,
            "kill": schema.KillTerminalRequest,
            "release": schema.ReleaseTerminalRequest,
        }[method]
        request = kind("s1", **params)
        name = f"terminal/{method}"
        handler = self.terminals.handlers[name]
        with anyio.fail_after(PATIENCE_S):
            return await handler(session or self.session, request, IncomingCall(1, name))

    async def create(self, command: str, *args: str, **more: Any) -> str:
        env = [schema.EnvVariable(key, value) for key, value in more.pop("env", {}).items()]
        if args:
            more["args"] = list(args)
        response = await self.ask("create", command=command, env=env, **more)
        return str(response.terminal_id)

    async def run(self, command: str, *args: str, **more: Any) -> schema.TerminalOutputResponse:
        """Create a terminal, wait for its end, and return the output."""
        id = await self.create(command, *args, **more)
        await self.ask("wait_for_exit", terminal_id=id)
        output: schema.TerminalOutputResponse = await self.ask("output", terminal_id=id)
        return output

    def rows(self) -> list[str]:
        """Return the chat's rows for tool calls and terminals."""
        rows = []
        for entry in self.session.transcript.entries:
            if isinstance(entry, ToolEntry):
                rows += draw(entry, Style())
            elif isinstance(entry, TerminalEntry):
                rows += draw_entry(entry)
        return [text for text, _, _ in rows]

    async def close(self) -> None:
        await self.terminals.close()
        await self.reaper.aclose()
        assert marked(self.mark) == []
