"""Changes that agents make on disk: turns, attribution, watch."""
