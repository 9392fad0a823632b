-- Commands and <Plug> maps. lua/acp/ is loaded only when one of them is used.
if vim.g.loaded_acp then return end
vim.g.loaded_acp = os.time() -- to recognize later updates

if vim.fn.has('nvim-0.10') == 0 then
  vim.api.nvim_err_writeln('acp.nvim needs Neovim 0.10 or later')
  return
end

--- Load a module of the plugin after the features.
local function module(name)
  require('acp.features')
  return require(name)
end

--- Return a function that a feature declares.
local function feature(kind, name) return require('acp.features').find(kind, name) end

local command = vim.api.nvim_create_user_command

command(
  'AcpPrompt',
  function(opts) feature('commands', 'AcpPrompt')(opts) end,
  { nargs = '*', range = true, bang = true, desc = 'Prompt the agent, or open the composer' }
)

command(
  'AcpCancel',
  function(opts) feature('commands', 'AcpCancel')(opts) end,
  { bang = true, bar = true, desc = 'Cancel the running turn (!: and empty the queue)' }
)

command('Acp', function(opts) module('acp.command').run(opts) end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Agent Client Protocol',
  complete = function(lead, line, pos) return module('acp.command').complete(lead, line, pos) end,
})

-- For the option `notify`. Neovim may lose the focus before anything else is loaded.
vim.api.nvim_create_autocmd({ 'FocusLost', 'FocusGained' }, {
  group = vim.api.nvim_create_augroup('acp.focus', {}),
  callback = function(args) vim.g.acp_focused = args.event == 'FocusGained' end,
})

-- Show pending edits that an earlier Neovim has left. If there are any, Python is started after the
-- current command.
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufEnter', 'FocusGained' }, {
  group = vim.api.nvim_create_augroup('acp.workspace', {}),
  callback = function(args)
    if args.match == '' or vim.g.acp_looks then return end
    vim.g.acp_looks = true
    vim.schedule(function()
      vim.g.acp_looks = nil
      local bufnr = vim.api.nvim_get_current_buf()
      if #require('acp.base.workspaces').waiting(bufnr) > 0 then
        module('acp.base.workspaces').on_enter(bufnr)
      end
    end)
  end,
})

-- Hosts of other Neovims must not attribute the user's saves to their agents.
local saves = vim.api.nvim_create_augroup('acp.saves', {})
vim.api.nvim_create_autocmd({ 'BufWritePre', 'FileWritePre', 'FileAppendPre' }, {
  group = saves,
  callback = function(args) require('acp.buffers.save_notes').on_write(args) end,
})
vim.api.nvim_create_autocmd({ 'BufWritePost', 'FileWritePost', 'FileAppendPost' }, {
  group = saves,
  callback = function(args) require('acp.buffers.save_notes').on_written(args) end,
})

-- Session files (|:mksession|) contain windows of the plugin, which would come back empty.
vim.api.nvim_create_autocmd({ 'SessionWritePost', 'SessionLoadPost' }, {
  group = vim.api.nvim_create_augroup('acp.session_files', {}),
  callback = function(args)
    local files = require('acp.ui.window.session_files')
    if args.event == 'SessionWritePost' then return files.on_written() end
    files.on_loaded()
  end,
})

local function plug(mode, name, rhs)
  local options = { noremap = true, silent = true }
  vim.api.nvim_set_keymap(mode, '<Plug>(acp-' .. name .. ')', rhs, options)
end

--- Map a name that a feature declares.
local function plug_feature(name)
  plug('n', name, ('<Cmd>lua require("acp.features").find("maps", "%s")()<CR>'):format(name))
end

plug('n', 'prompt', '<Cmd>AcpPrompt<CR>')
plug('x', 'prompt', ':AcpPrompt<CR>')
plug('n', 'edit', '<Cmd>Acp edit<CR>')
plug('x', 'edit', ':Acp edit<CR>')
plug('n', 'cancel', '<Cmd>AcpCancel<CR>')
plug('n', 'chat', '<Cmd>Acp chat<CR>')
plug('n', 'allow', '<Cmd>Acp allow<CR>')
plug_feature('allow-always')
plug('n', 'deny', '<Cmd>Acp deny<CR>')
plug_feature('deny-always')
for _, mode in ipairs({ 'n', 'x' }) do
  local begin = '<Cmd>lua require("acp.features").find("maps", "operator")()<CR>'
  plug(mode, 'operator', begin .. 'g@')
end
plug_feature('next-hunk')
plug_feature('prev-hunk')
plug('n', 'accept-hunk', '<Cmd>Acp accept hunk<CR>')
plug('n', 'reject-hunk', '<Cmd>Acp reject hunk<CR>')
plug('n', 'follow', '<Cmd>Acp follow<CR>')
