"""The chat: what `<CR>` opens, reports, the log."""
