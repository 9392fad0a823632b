"""`python -m acp_nvim`: the host, speaking msgpack-rpc with Neovim over stdio."""

import gc


def run() -> None:
    """Import all that a host needs and serve. What is imported stays, so looking for garbage
    meanwhile would only take time from the first prompt; `main` turns that on again.
    """
    gc.disable()
    from acp_nvim.editor.main import main

    main()


if __name__ == "__main__":
    run()
