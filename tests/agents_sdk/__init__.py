"""Agents written with the official Python SDK."""
