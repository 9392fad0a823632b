"""Real agents by other authors, run offline against a scripted model server."""
