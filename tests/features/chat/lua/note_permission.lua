vim.api.nvim_create_autocmd('User', {
  pattern = 'AcpState',
  callback = function()
    local session = require('acp').state().sessions[1] or {}
    _G.has_permission = _G.has_permission or #(session.permissions or {}) > 0
  end,
})
