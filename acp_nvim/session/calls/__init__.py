"""Tool calls of a session."""
