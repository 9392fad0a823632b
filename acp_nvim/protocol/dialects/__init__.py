"""Dialects: descriptions of the protocol that differ from version 1."""
