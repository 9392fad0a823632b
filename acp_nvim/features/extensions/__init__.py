"""Requests and notifications beyond the protocol."""
