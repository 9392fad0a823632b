"""Pending edits: texts, hunks, three-way merge, and the ledger of undecided edits. Pure."""
