"""What the editor's own tools ask of Neovim."""
