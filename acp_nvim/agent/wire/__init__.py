"""Wire of one agent: bytes, messages, calls, and the traffic log."""
