"""The editor's tools as an MCP server for each session."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import anyio

from acp_nvim import wording
from acp_nvim.agent.opening.session_params import OWN
from acp_nvim.agent.serving.servers import OwnServer, Route
from acp_nvim.protocol import schema
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.tools.server import relay
from acp_nvim.tools.server.over_acp import McpOverAcp
from acp_nvim.tools.server.tool_socket import SocketAccess, ToolSocket
from acp_nvim.tools.server.toolbox import Toolbox

PATIENCE_S: Final = 30.0
"""Seconds that an agent may take to connect after its first prompt."""
LATE: Final = ("tutor",)
"""Agents that connect only when they need a tool."""
RELAY: Final = str(Path(relay.__file__).resolve())


class EditorTools:
    """`OwnTools` of all sessions of a host."""

    def __init__(
        self,
        toolbox: Toolbox,
        runtime_directory: Callable[[], str | None],
        tasks: Tasks,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """`runtime_directory` returns the directory for the socket, or None before `setup`."""
        self._socket = ToolSocket(toolbox, tasks, runtime_directory)
        self._over_acp = McpOverAcp(toolbox)
        self.message = self._over_acp.message
        self._tasks = tasks
        self._patience_s = patience_s
        self._prompted: set[str] = set()

    def offer(
        self, session: Session, wanted: bool | Sequence[str], route: Route
    ) -> OwnServer | None:
        """Return an MCP server with the tools for a session. Withdraw an earlier offer.

        Return None if the session gets no tools or no socket can be opened. The tools are imported
        when the agent lists them.
        """
        self.withdraw(session)
        if route == "acp":
            id = self._over_acp.admit(session, wanted)
            return None if id is None else OwnServer(schema.McpServerAcp(OWN, id), [id])
        try:
            access = self._socket.admit(session, wanted)
        except OSError as error:
            session.notice("warning", wording.TOOLS_NOT_OFFERED.format(reason=error))
            return None
        if access is None:
            return None
        return OwnServer(_relay_server(access), [access.token])

    def on_prompt_sent(self, session: Session, prompt: Prompt) -> None:
        """Schedule a check, once per session, that the agent has connected."""
        if session.agent in LATE:
            return
        if session.tools is not None and session.key not in self._prompted:
            self._prompted.add(session.key)
            if not session.tools.has_connected:
                self._tasks.start_soon(self._check_connected, session)

    async def _check_connected(self, session: Session) -> None:
        await anyio.sleep(self._patience_s)
        use = session.tools
        if use is not None and not use.has_connected and not session.is_over:
            agent = session.transcript.speaker or session.agent.capitalize()
            session.notice("info", wording.TOOLS_NOT_CONNECTED.format(agent=agent))

    def refresh(self) -> None:
        """Notify connected agents that the tools have changed."""
        self._socket.refresh()
        self._over_acp.refresh()

    def withdraw(self, session: Session) -> None:
        """Withdraw the tools from a session."""
        self._socket.withdraw(session)
        self._over_acp.withdraw(session)

    def close(self) -> None:
        """Close all connections."""
        self._socket.close()

    def lines(self) -> Iterator[str]:
        """Yield the line of `:Acp info` about refused clients, if there are any."""
        if self._socket.refused:
            counts = ", ".join(f"{n} {kind}" for kind, n in sorted(self._socket.refused.items()))
            yield f"editor's tools, refused: {counts}"


def _relay_server(access: SocketAccess) -> schema.McpServerStdio:
    variables = {"ACP_NVIM_SOCKET": access.address, "ACP_NVIM_TOKEN": access.token}
    env = [schema.EnvVariable(name, value) for name, value in variables.items()]
    return schema.McpServerStdio(OWN, sys.executable, ["-I", "-S", RELAY], env)
