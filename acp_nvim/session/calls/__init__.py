"""The tool calls of a session."""
