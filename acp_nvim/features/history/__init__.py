"""Session transcripts, kept and found again."""
