--- Key of chats and composers that switches to the next mode of their session.
local function run(_, n)
  if vim.fn.pumvisible() == 1 then
    vim.api.nvim_feedkeys(vim.keycode('<C-p>'), 'n', false) -- the completion menu has the key
  else
    require('acp.ui.subcommand').notify('next_mode', { session = n })
  end
end

local next_mode = { 'next mode of the session', run }

return { chat = { next_mode = next_mode }, composer = { next_mode = next_mode } }
