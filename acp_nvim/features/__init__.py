"""Ring 2: features, a folder each."""

from typing import Final

FEATURES: Final = (
    "agents",
    "tools",
    "history",
    "checkpoints",
    "prompts",
    "unsaved",
    "blame",
    "chat",
    "edit",
    "extensions",
    "forms",
    "library",
    "login",
    "overview",
    "permissions",
    "pictures",
    "presets",
    "refuse",
    "report",
    "review",
    "rules",
    "sessions",
    "terminals",
    "trust",
    "worktrees",
)
"""Folders beside this file, as `main.py` installs them. Observers are called in this order."""
