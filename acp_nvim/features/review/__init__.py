"""The review of pending edits."""
