"""Writes by agents."""
