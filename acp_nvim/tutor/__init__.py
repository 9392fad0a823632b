"""The embedded agent: it speaks the agent's side of the protocol over stdio and teaches the plugin.

It has no model and needs no network: its words are fixed, its actions are real. It reads, edits,
asks, runs commands and can be cancelled by the same messages as any other agent.
"""
