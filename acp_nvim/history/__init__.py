"""Session transcripts in a database that outlives Neovim."""
