"""Serving an agent's requests: files, terminals, questions."""
