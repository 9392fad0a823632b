"""Writes of agents."""
