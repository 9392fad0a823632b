"""Agents (ring 1): processes, connections, sessions. Uses anyio and does not depend on Neovim."""
