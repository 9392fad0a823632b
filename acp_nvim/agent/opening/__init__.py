"""Opening sessions at an agent, and logging in."""
