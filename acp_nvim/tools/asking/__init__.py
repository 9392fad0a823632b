"""Tools that only read: navigation, diagnostics, search."""
