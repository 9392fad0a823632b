"""Sessions opened at an agent, and the login."""
