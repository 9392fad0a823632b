-- Load nvim-cmp when Insert mode begins, as lazy.nvim does: then it fires the event for the plugin.
local folders = ...

vim.api.nvim_create_autocmd('InsertEnter', {
  once = true,
  callback = function()
    for _, folder in ipairs(folders) do
      vim.opt.rtp:append(folder)
      vim.cmd.source(vim.fn.glob(folder .. '/plugin/*.lua'))
    end
    local cmp = require('cmp')
    cmp.setup({
      sources = { { name = 'nvim_lsp' } },
      mapping = cmp.mapping.preset.insert({ ['<CR>'] = cmp.mapping.confirm({ select = true }) }),
    })
    for _, group in ipairs({ 'cmp_nvim_lsp', '___cmp___' }) do
      vim.api.nvim_exec_autocmds('InsertEnter', { group = group })
    end
  end,
})
