"""Output of programs: its end, as bytes, as lines of text, with colours or without."""
