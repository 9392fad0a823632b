local title = ...
local win = vim.fn.win_findbuf(require('acp').state().sessions[1].chat_bufnr)[1]
return vim.api.nvim_win_call(win, function()
  local head = vim.fn.search('^[^u].*' .. title, 'cw')
  return { head, vim.fn.foldclosed(head), vim.fn.foldclosedend(head) }
end)
