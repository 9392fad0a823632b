"""Review of pending edits: decisions and commits."""
