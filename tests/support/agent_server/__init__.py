"""Agents behind a socket: WebSocket and Streamable HTTP at one address."""
