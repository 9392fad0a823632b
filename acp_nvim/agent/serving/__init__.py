"""Requests of an agent."""
