"""What programs print: kept to its end, as bytes, as lines of text, with colours or without."""
