"""Authors of lines."""
