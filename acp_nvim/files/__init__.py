"""The files that the user and agents share: ring 1, knows neither Neovim nor the protocol."""
