"""Core of the host: sessions, observers of turns, and code that several features use."""
