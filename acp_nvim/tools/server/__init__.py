"""MCP server of the tools: socket, relay, methods."""
