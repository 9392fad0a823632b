"""Logins at agents."""
