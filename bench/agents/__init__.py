"""Agents that send a lot in little time, so that they do not dominate the measurement."""
