"""The benchmark: the product beside a bare loop that does the same work, in a real Neovim."""
