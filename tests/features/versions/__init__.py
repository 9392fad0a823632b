"""What holds in both versions of the protocol, and what version 2 has alone."""
