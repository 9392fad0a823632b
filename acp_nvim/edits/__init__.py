"""Texts, hunks, three-way merge, and the ledger of pending edits. Pure."""
