"""Transports between the client and an agent: one module for each, behind one protocol."""
