-- The configuration of a trial without a user: one turn of the embedded agent, run by the
-- interpreter ACP_PYTHON. It prints the versions and exits with 0 if the turn ends well.
vim.opt.runtimepath:prepend(vim.env.ACP_ROOT)
require('acp').setup({ python = vim.env.ACP_PYTHON, agent = 'tutor' })

local function finish(text, code)
  io.stdout:write(text .. '\n')
  vim.cmd(code == 0 and 'qall!' or code .. 'cquit!')
end

vim.api.nvim_create_autocmd('User', {
  pattern = 'AcpTurnEnd',
  callback = function(ev)
    local version = require('acp.base.installation.version').line()
    local text = ('acp.nvim %s in Neovim %s: %s'):format(
      version,
      tostring(vim.version()),
      ev.data.error or ev.data.stop_reason
    )
    vim.schedule(function() finish(text, ev.data.stop_reason == 'end_turn' and 0 or 1) end)
  end,
})
vim.api.nvim_create_autocmd('VimEnter', { command = 'AcpPrompt hello' })
vim.defer_fn(function() finish(vim.fn.execute('messages'), 1) end, 60000)
