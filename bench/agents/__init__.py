"""Agents that say a lot in little time, so that what is measured is not the agent."""
