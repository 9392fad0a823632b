"""Checkpoints: rewind to a prompt."""
