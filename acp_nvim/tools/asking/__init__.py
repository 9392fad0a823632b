"""Tools that ask: navigation, diagnostics, search."""
