"""Recent output of programs, as bytes and as lines of text, with or without colours."""
