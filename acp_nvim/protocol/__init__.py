"""Protocol (ring 0): JSON-RPC peer, wire types, method table, tolerant decoding."""
