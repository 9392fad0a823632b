"""Version 2 of the protocol: its wire types, and their translation into what sessions know."""
