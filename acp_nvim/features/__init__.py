"""Ring 2: features, a folder each."""
