"""Forms of agents."""
