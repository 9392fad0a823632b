"""Ring 1: the agent as a process, what crosses its wire, what it may ask of us. Knows anyio, not
Neovim.
"""
