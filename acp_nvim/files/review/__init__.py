"""Pending edits, decisions, commits."""
