"""What was said in sessions, kept in a database that outlives Neovim."""
