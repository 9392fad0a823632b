"""Agents as the user sees them: state, options, restart, providers."""
