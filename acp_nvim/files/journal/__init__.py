"""State that outlives Neovim and is shared by several."""
