"""Agents (ring 1): processes, connections, sessions. Uses anyio and knows nothing of Neovim."""
