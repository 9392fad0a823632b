"""Tools that change files."""
