"""Prompts of a session: queue and turn."""
