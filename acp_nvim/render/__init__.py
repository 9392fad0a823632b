"""Ring 0: session entries to lines, highlights and folds."""
