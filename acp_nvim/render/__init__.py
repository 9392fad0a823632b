"""Ring 0: session entries as lines, highlights and folds."""
