"""Transcript of a session."""
