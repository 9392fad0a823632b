"""`python -m acp_nvim`: the host, speaking msgpack-rpc with Neovim over stdio."""

import gc
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_nvim.agent.child.early import EarlyAgent

OLDEST = (3, 11)


def _connected() -> bool:
    """Whether stdin and stdout lead to a process, as they do where Neovim is the parent."""
    try:
        modes = [os.fstat(fd).st_mode for fd in (0, 1)]
    except OSError:  # closed
        return False
    return all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes)


def _early_agent() -> "EarlyAgent | None":
    """The agent of a prompt that waits already; what starts it must not inherit what it says."""
    wanted = os.environ.pop("ACP_NVIM_EARLY_AGENT", None)
    if wanted is None or sys.platform == "win32":
        return None
    from acp_nvim.agent.child.early import start
    from acp_nvim.nvim.environment import agent_environment

    return start(wanted, agent_environment())


def run() -> None:
    """Start the agent that Lua has named, import all that a host needs meanwhile, and serve. What
    is imported stays, so looking for garbage meanwhile would only take time from the first prompt;
    `main` turns that on again.
    """
    if sys.version_info < OLDEST:
        sys.exit(f"acp.nvim needs Python 3.11, this is {sys.version.split()[0]}")
    if not _connected():
        sys.exit("acp_nvim is started by the Neovim that it serves: see :help acp")
    gc.disable()
    agent = _early_agent()
    from acp_nvim.main import main

    main(agent)


if __name__ == "__main__":
    run()
