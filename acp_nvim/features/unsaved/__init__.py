"""Unsaved text, for agents that read files on disk."""
