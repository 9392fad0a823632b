"""The classic remote-plugin entry, after `:UpdateRemotePlugins`: the same core in Neovim's shared
Python host.

It exports no command: those are Lua's on either route, so the manifest and `plugin/acp.lua` define
nothing twice. pynvim imports this file by its bare name, which therefore must be nobody else's
(`acp` is that of the protocol's SDK).
"""

import sys
from pathlib import Path
from typing import Any

import pynvim

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from acp_nvim.main import Classic


@pynvim.plugin
class Acp:
    """Hands over to the core."""

    def __init__(self, nvim: Any) -> None:
        self._core = Classic(nvim)

    @pynvim.function("_AcpClassicStart", sync=True)
    def start(self, args: list[Any]) -> int:
        """Start the core; returns the channel that takes verbs."""
        return self._core.start()

    @pynvim.rpc_export("acp_ping", sync=True)
    def ping(self) -> str:
        """Answer the health check (`lua/acp/health.lua`)."""
        return "pong"

    @pynvim.rpc_export("acp")
    def verb(self, name: str, args: Any = None) -> None:
        """Take a verb from `lua/acp/base/host/init.lua`."""
        self._core.deliver(name, args)
