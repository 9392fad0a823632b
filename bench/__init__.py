"""The benchmark: the product beside a minimal loop that does the same work, in a real Neovim."""
