"""`python -m acp_nvim`: the host, speaking msgpack-rpc with Neovim over stdio."""

from acp_nvim.editor.main import main

if __name__ == "__main__":
    main()
