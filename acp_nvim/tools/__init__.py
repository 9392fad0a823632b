"""The editor's own tools for agents: an MCP server named `neovim`. Ring 1; knows no Neovim."""
