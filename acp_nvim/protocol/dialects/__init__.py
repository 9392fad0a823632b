"""Dialects: other descriptions of the protocol."""
