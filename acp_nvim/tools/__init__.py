"""The editor's tools for agents: an MCP server named `neovim` (ring 1)."""
