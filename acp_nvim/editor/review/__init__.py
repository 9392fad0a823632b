"""Pending edits: what agents wrote, here or on disk, and the user's word on it."""
