-- Commands and <Plug> maps. lua/acp/ is loaded only when one of them is used.
if vim.g.loaded_acp then return end
vim.g.loaded_acp = 1

if vim.fn.has('nvim-0.10') == 0 then
  vim.api.nvim_err_writeln('acp.nvim needs Neovim 0.10 or later')
  return
end

--- Load a module of the plugin after the listeners of its signals.
local function module(name)
  require('acp.wiring')
  return require(name)
end

local command = vim.api.nvim_create_user_command

command(
  'AcpPrompt',
  function(opts) module('acp.features.prompts.commands').prompt(opts) end,
  { nargs = '*', range = true, bang = true, desc = 'Prompt the agent, or open the composer' }
)

command(
  'AcpCancel',
  function(opts) module('acp.features.prompts.commands').cancel(opts) end,
  { bang = true, desc = 'Cancel the running turn (!: and empty the queue)' }
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
        module('acp.base.workspaces').entered(bufnr)
      end
    end)
  end,
})

local function plug(mode, name, rhs)
  local options = { noremap = true, silent = true }
  vim.api.nvim_set_keymap(mode, '<Plug>(acp-' .. name .. ')', rhs, options)
end

---@param name string of a module
local function lua(name, call)
  return ('<Cmd>lua require("acp.wiring") require("%s").%s<CR>'):format(name, call)
end

plug('n', 'prompt', '<Cmd>AcpPrompt<CR>')
plug('x', 'prompt', ':AcpPrompt<CR>')
plug('n', 'cancel', '<Cmd>AcpCancel<CR>')
plug('n', 'chat', '<Cmd>Acp chat<CR>')
plug('n', 'allow', '<Cmd>Acp allow<CR>')
plug('n', 'allow-always', lua('acp.features.permissions.decide', 'first("allow_always")'))
plug('n', 'deny', '<Cmd>Acp deny<CR>')
plug('n', 'deny-always', lua('acp.features.permissions.decide', 'first("reject_always")'))
plug('n', 'next-hunk', lua('acp.features.review.hunk', 'jump(vim.v.count1)'))
plug('n', 'prev-hunk', lua('acp.features.review.hunk', 'jump(-vim.v.count1)'))
plug('n', 'accept-hunk', '<Cmd>Acp accept hunk<CR>')
plug('n', 'reject-hunk', '<Cmd>Acp reject hunk<CR>')
plug('n', 'follow', '<Cmd>Acp follow<CR>')
