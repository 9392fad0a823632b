local root, bytecode = ...
vim.opt.runtimepath:prepend(root)
if bytecode then
  table.insert(package.loaders, 2, function(name) -- after `package.preload`
    if not vim.startswith(name, 'acp') or vim.in_fast_event() then return nil end
    local is_first = vim.startswith(vim.o.runtimepath, root .. ',')
    return is_first and loadfile(('%s/%s.luac'):format(bytecode, name)) or nil
  end)
end
vim.g.loaded_python3_provider = 0 -- else the first .py file starts a Python or two to look for it
if vim.env.ACP_TEST_PORTABLE then -- the front reads no /proc either
  package.preload['acp.base.read_file'] = function()
    local path = vim.api.nvim_get_runtime_file('lua/acp/base/read_file.lua', false)[1]
    local read = dofile(path)
    return function(name) return name:sub(1, 6) ~= '/proc/' and read(name) or nil end
  end
end
_G.acp_events = {}
local stdio, notify = 1, vim.rpcnotify
local function note(args)
  table.insert(_G.acp_events, { name = args.match, data = args.data })
  pcall(notify, stdio, 'acp_event', args.match) -- a Neovim in a terminal has no such channel
end
vim.api.nvim_create_autocmd('User', { pattern = 'Acp*', callback = note })
-- A checkout in this work tree while tests run is not an update of the plugin.
vim.api.nvim_create_autocmd('SourcePost', {
  pattern = '*/plugin/acp.lua',
  once = true,
  callback = function() vim.g.loaded_acp = true end,
})
