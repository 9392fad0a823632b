"""Prompts at an agent: queue and turn."""
