"""The embedded agent: it speaks the agent's side of the protocol over stdio and teaches the plugin.

No model and no network: what it says is written down here, what it does is real. It reads, edits,
asks, runs commands and can be cancelled by the same messages as any other agent.
"""
