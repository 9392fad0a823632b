"""The classic remote-plugin entry, after `:UpdateRemotePlugins`: the same core in Neovim's shared
Python host.

It exports no command: `plugin/acp.lua` defines them with either entry, and the manifest must not
define them again. pynvim imports this file by its bare name, so that name must be unique (`acp` is
the package of the protocol's SDK).
"""

import sys
from pathlib import Path
from typing import Any

import pynvim

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from acp_nvim.main import Classic


@pynvim.plugin
class Acp:
    """Plugin object that passes everything to the core."""

    def __init__(self, nvim: Any) -> None:
        self._core = Classic(nvim)

    @pynvim.function("_AcpClassicStart", sync=True)
    def start(self, args: list[Any]) -> int:
        """Start the core; return the channel for verbs."""
        return self._core.start()

    @pynvim.rpc_export("acp")
    def verb(self, name: str, args: Any = None) -> None:
        """Run a verb that was sent by `lua/acp/base/host/init.lua`."""
        self._core.deliver(name, args)
