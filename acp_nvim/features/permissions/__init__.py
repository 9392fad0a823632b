"""Permissions: questions of agents, and the proposals that they show."""
