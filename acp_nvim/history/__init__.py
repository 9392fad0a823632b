"""Session transcripts in a database."""
