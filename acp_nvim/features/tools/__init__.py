"""The editor's own tools, as the host offers them."""
