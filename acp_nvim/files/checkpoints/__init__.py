"""Checkpoints, and the stores of file contents."""
