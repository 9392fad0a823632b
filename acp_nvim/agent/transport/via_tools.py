"""The editor's tools for a remote agent.

The agent starts a remote relay, which cannot reach the socket on this machine. Therefore a remote
command, the link, is started like the agent and waits for the next relay. Two named pipes connect
the link and the relay. The place needs only a shell: no Python, forwarded socket or shared
directory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import anyio
from msgspec import structs

from acp_nvim.agent.serving.servers import OwnServer
from acp_nvim.agent.transport.base import TransportError
from acp_nvim.agent.transport.via_transport import ViaTransport
from acp_nvim.agent.wire.path_fields import PathFields
from acp_nvim.protocol import schema
from acp_nvim.tasks import Tasks

SOCKET: Final = "ACP_NVIM_SOCKET"
"""Variable of a relay: the socket of a local relay, or the directory of a remote one."""
RETRY_S: Final = 5.0
"""Time between two attempts to wait for relays, in seconds."""
LINE_BYTES: Final = 64 << 20
"""Maximum length of a message from a relay or from the tools, in bytes."""

RELAY: Final = r"""
relay=$(mktemp -d "$ACP_NVIM_SOCKET/XXXXXX") && mkfifo "$relay/in" "$relay/out" &&
  echo "${relay##*/}" >"$ACP_NVIM_SOCKET/new" || {
    echo "acp.nvim: cannot reach Neovim's tools" >&2
    exit 1
  }
{ sleep 10; [ -d "$relay" ] && kill $$; } </dev/null >/dev/null 2>&1 &
exec 3<&0
{ echo "$ACP_NVIM_TOKEN"; exec cat <&3 3<&-; } >"$relay/in" &
exec cat "$relay/out" 3<&-
"""
"""Relay in POSIX sh. It ends if no link connects to it within ten seconds."""
LINK: Final = r"""
read -r name <"$1/new" || exit
echo
relay=$1/$name
{ sleep 10; [ -d "$relay" ] && kill $$; } </dev/null >/dev/null 2>&1 &
exec 5<"$relay/in" 6>"$relay/out"
rm "$relay/in" "$relay/out"
rmdir "$relay"
{ cat <&5; sleep 1; kill $$; } 6>&- &
exec cat >&6 5<&-
"""
"""Link in POSIX sh.

It prints an empty line when it connects to a relay. It ends one second after the end of the relay's
input.
"""


class ViaTools:
    """Links to the relays of one agent."""

    def __init__(self, link: Callable[[Sequence[str]], ViaTransport], fields: PathFields) -> None:
        """`link` returns a transport that runs a command where the agent runs."""
        self.directory = ""
        """Remote directory of the relays, or an empty string if there is none yet."""
        self._link, self._fields = link, fields
        self._links: set[ViaTransport] = set()
        self._is_listening = False
        self._closed = anyio.Event()

    def set_directory(self, directory: str) -> None:
        self.directory = directory

    def server(self, own: OwnServer, tasks: Tasks, report: Callable[[str], None]) -> OwnServer:
        """Return the editor's server with a relay for the agent's place.

        `tasks` run the links. `report` is called with the reason if no link can be opened.
        """
        local = own.server
        assert isinstance(local, schema.McpServerStdio)
        variables = {variable.name: variable.value for variable in local.env}
        if not self._is_listening:
            self._is_listening = True
            tasks.start_soon(self._listen, variables[SOCKET], tasks, report)
        variables[SOCKET] = self.directory
        env = [schema.EnvVariable(name, value) for name, value in variables.items()]
        args = ["-c", RELAY, "acp-nvim"]
        return structs.replace(own, server=schema.McpServerStdio(local.name, "/bin/sh", args, env))

    async def close(self) -> None:
        """End all links."""
        self._closed.set()
        async with anyio.create_task_group() as group:
            for link in self._links:
                group.start_soon(link.stop)

    async def _listen(self, address: str, tasks: Tasks, report: Callable[[str], None]) -> None:
        """Keep one link waiting for the next relay."""
        is_reported = False
        while not self._closed.is_set():
            link = self._link(["/bin/sh", "-c", LINK, "acp-nvim", self.directory])
            self._links.add(link)
            taken = b""
            try:
                await link.start()
                if not self._closed.is_set():
                    taken = await link.receive()
            except TransportError as error:
                if not (is_reported or self._closed.is_set()):
                    is_reported = True
                    report(str(error))
            if taken:
                tasks.start_soon(self._carry, link, taken[1:], address)
                continue
            await self._end(link)
            with anyio.move_on_after(RETRY_S):
                await self._closed.wait()

    async def _carry(self, link: ViaTransport, data: bytes, address: str) -> None:
        """Forward the messages of one relay. `data` is the beginning of its input."""
        try:
            reader, writer = await asyncio.open_unix_connection(address, limit=LINE_BYTES)
        except OSError:  # the tools are closed
            await self._end(link)
            return
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._carry_answers, reader, link, group.cancel_scope)
                await self._carry_requests(link, data, writer)
                group.cancel_scope.cancel()
        finally:
            writer.transport.abort()
            await self._end(link)

    async def _carry_requests(
        self, link: ViaTransport, data: bytes, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(ConnectionError):
            while len(data) <= LINE_BYTES:
                *lines, data = data.split(b"\n")
                for line in lines:
                    writer.write(self._fields.tool_request(line) + b"\n")
                await writer.drain()
                piece = await link.receive()
                if not piece:
                    return
                data += piece

    async def _carry_answers(
        self, reader: asyncio.StreamReader, link: ViaTransport, scope: anyio.CancelScope
    ) -> None:
        with suppress(ConnectionError):
            while (line := await reader.readline()).endswith(b"\n"):
                link.send(self._fields.tool_answer(line))
        scope.cancel()

    async def _end(self, link: ViaTransport) -> None:
        with anyio.CancelScope(shield=True):
            await link.stop()
        self._links.discard(link)
