"""The editor's own tools for agents: an MCP server named `neovim` (ring 1). It does not know
Neovim.
"""
