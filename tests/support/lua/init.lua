vim.opt.runtimepath:prepend(...)
vim.g.loaded_python3_provider = 0 -- else the first .py file starts a Python or two to look for it
_G.acp_events = {}
local function note(args) table.insert(_G.acp_events, { name = args.match, data = args.data }) end
vim.api.nvim_create_autocmd('User', { pattern = 'Acp*', callback = note })
