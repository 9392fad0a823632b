--- Keys from anywhere: option `keymaps.preset`. None is taken that the user has mapped.
local M = {}

local PREFIX = '<leader>a'

--- Key after the prefix -> what it does, and for whom reads it.
local KEYS = {
  a = { '<Plug>(acp-prompt)', 'write a prompt', { 'n', 'x' } },
  c = { '<Plug>(acp-chat)', 'open or close the chat' },
  x = { '<Plug>(acp-cancel)', 'stop the agent' },
  y = { '<Plug>(acp-allow)', 'allow' },
  Y = { '<Plug>(acp-allow-always)', 'allow always' },
  n = { '<Plug>(acp-deny)', 'deny' },
  N = { '<Plug>(acp-deny-always)', 'deny always' },
  r = { '<Cmd>Acp review<CR>', 'review all changes' },
  e = { '<Cmd>Acp edits<CR>', 'list pending edits' },
  s = { '<Cmd>Acp sessions open<CR>', 'open a session' },
  S = { '<Cmd>Acp sessions<CR>', 'rename, fork, close … a session' },
  q = { '<Cmd>Acp queue<CR>', 'waiting prompts' },
  k = { '<Cmd>Acp checkpoints<CR>', 'checkpoints' },
  f = { '<Plug>(acp-follow)', 'follow the agent' },
}

local ours = {} ---@type { mode: string, lhs: string, rhs: string }[]

local function is_ours(map)
  local now = vim.fn.maparg(map.lhs, map.mode, false, true)
  return now.rhs == map.rhs and now.buffer == 0
end

--- Set the keys as the option says now; those set before go.
function M.refresh()
  for _, map in ipairs(ours) do
    if is_ours(map) then vim.keymap.del(map.mode, map.lhs) end
  end
  ours = {}
  local keymaps = require('acp.config').get().keymaps
  local preset = keymaps and keymaps.preset
  if not preset then return end
  for key, of in pairs(KEYS) do
    for _, mode in ipairs(of[3] or { 'n' }) do
      local map = { mode = mode, lhs = (preset == true and PREFIX or preset) .. key, rhs = of[1] }
      if vim.fn.maparg(map.lhs, mode) == '' then
        vim.keymap.set(mode, map.lhs, map.rhs, { desc = 'ACP: ' .. of[2], silent = true })
        table.insert(ours, map)
      end
    end
  end
end

return M
