"""The transcript of a session."""
