"""Core of the host: sessions, the work around each turn, and everything that features share."""
