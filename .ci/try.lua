-- The configuration of `make try`: the plugin on 'runtimepath', and one line that says how to
-- start.
local root = vim.env.ACP_ROOT
vim.opt.runtimepath:prepend(root)
vim.opt.number = true
vim.opt.swapfile = false
vim.g.maplocalleader = ','
require('acp').setup({ blame = true })
vim.api.nvim_create_autocmd('VimEnter', {
  once = true,
  callback = function()
    if vim.fn.argc() > 0 then
      vim.api.nvim_echo(
        { { 'Type  :AcpPrompt hello  and press Enter.  Help:  :help acp' } },
        false,
        {}
      )
    end
  end,
})
