"""Files on disk: formats, paths, guards, atomic writes."""
