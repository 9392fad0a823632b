"""Tool calls as rows."""
