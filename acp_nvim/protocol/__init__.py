"""Bytes in, events out: JSON-RPC peer, wire types, method table, tolerant decoding (ring 0)."""
