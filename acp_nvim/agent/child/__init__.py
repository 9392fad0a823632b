"""Child processes: starting, watching, and ending them with their descendants."""
