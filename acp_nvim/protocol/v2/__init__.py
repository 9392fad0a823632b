"""Version 2 of the protocol: wire types, and their translation for sessions."""
