"""MCP server of the tools: door, relay, methods."""
