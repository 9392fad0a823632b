"""Ring 2: the only folder that knows Neovim."""
