"""Tools of the editor for agents: an MCP server named `neovim` (ring 1)."""
