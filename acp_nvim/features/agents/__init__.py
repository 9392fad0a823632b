"""Agents: state, options, restart, providers."""
