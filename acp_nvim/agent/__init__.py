"""Agents (ring 1): process, wire, and the requests that an agent may make. Knows anyio, not
Neovim.
"""
