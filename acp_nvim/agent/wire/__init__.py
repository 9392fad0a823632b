"""The wire of one agent: bytes, messages, calls, and the log of it all."""
