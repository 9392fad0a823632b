"""Behaviour in both versions of the protocol, and features of version 2 only."""
