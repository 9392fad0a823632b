"""State of a session (ring 0), without any I/O."""
