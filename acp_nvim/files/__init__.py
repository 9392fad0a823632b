"""Files that the user and agents share. Ring 1: independent of Neovim and of the protocol."""
