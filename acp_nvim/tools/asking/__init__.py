"""Tools for questions: navigation, diagnostics, search."""
