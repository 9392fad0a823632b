"""Embedded agent that teaches the plugin, over the same protocol as any other agent.

It has no model and needs no network. Its texts are fixed, and its actions are real.
"""
