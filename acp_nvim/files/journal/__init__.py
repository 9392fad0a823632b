"""State that is kept across restarts and shared by several Neovims."""
