"""Requests of the editor's own tools to Neovim."""
