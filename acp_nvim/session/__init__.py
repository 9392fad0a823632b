"""Ring 0: what a session is, without any I/O."""
