"""`python -m acp_nvim`: the host, which exchanges msgpack-rpc with Neovim over stdio."""

import atexit
import gc
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_nvim.agent.child.early import EarlyAgent

OLDEST = (3, 11)


def _is_connected() -> bool:
    """Return whether stdin and stdout are pipes or sockets, as they are if Neovim is the parent."""
    try:
        modes = [os.fstat(fd).st_mode for fd in (0, 1)]
    except OSError:  # closed
        return False
    return all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes)


def _early_agent() -> "EarlyAgent | None":
    """Start the agent that Lua named in the environment, for a prompt typed before this start.

    The environment variable is removed first, so that the agent does not inherit it.
    """
    wanted = os.environ.pop("ACP_NVIM_EARLY_AGENT", None)
    if wanted is None or sys.platform == "win32":
        return None
    from acp_nvim.agent.child.early import start
    from acp_nvim.nvim.environment import agent_environment

    return start(wanted, agent_environment())


def _exit_if(ended: list[bool]) -> None:
    """Exit without freeing modules and objects one by one, which would take Python 30 ms.

    Neovim waits for the exit when the user quits.
    """
    if ended:
        sys.stderr.flush()
        os._exit(0)


def run() -> None:
    """Start the agent that Lua named, import the host while the agent starts, and serve.

    The garbage collector is off during the imports, because modules are never freed. `main` enables
    it again.
    """
    ended: list[bool] = []
    atexit.register(_exit_if, ended)  # the first one registered is the last one called
    if sys.version_info < OLDEST:
        sys.exit(f"acp.nvim needs Python 3.11; this is {sys.version.split()[0]}")
    if not _is_connected():
        sys.exit("acp_nvim is started by the Neovim that it serves: see :help acp")
    gc.disable()
    agent = _early_agent()
    from acp_nvim.main import main

    main(agent)
    ended.append(True)


if __name__ == "__main__":
    run()
