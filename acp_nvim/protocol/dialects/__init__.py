"""Other descriptions of the protocol."""
