"""Terminals of agents."""
