"""The editor's own tools for agents, without an editor."""
