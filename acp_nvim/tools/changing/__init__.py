"""Tools for changing files."""
