"""Verbs: what Lua asks the host to do, by subject."""
