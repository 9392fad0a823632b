"""The MCP server: door, relay, methods."""
