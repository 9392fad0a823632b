"""`python -m acp_nvim`: the host, speaking msgpack-rpc with Neovim over stdio."""

import gc
import sys

OLDEST = (3, 11)


def run() -> None:
    """Import all that a host needs and serve. What is imported stays, so looking for garbage
    meanwhile would only take time from the first prompt; `main` turns that on again.
    """
    if sys.version_info < OLDEST:
        sys.exit(f"acp.nvim needs Python 3.11, this is {sys.version.split()[0]}")
    gc.disable()
    from acp_nvim.editor.main import main

    main()


if __name__ == "__main__":
    run()
