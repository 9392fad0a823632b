"""Ring 2: features, one folder each."""

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
"""Folders beside this file, in the order in which they are installed and observers are called."""
