"""Real agents of other people, run offline against a scripted model server."""
