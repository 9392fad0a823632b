"""Files in buffers, and the texts that agents have read."""
