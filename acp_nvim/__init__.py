"""acp.nvim: an Agent Client Protocol client for Neovim."""

__version__ = "0.1.0"
