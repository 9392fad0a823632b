--- Global keys of option `keymaps.preset`. Keys that the user has mapped are left alone.
local M = {}

local PREFIX = '<leader>a'

--- Key after the prefix -> right-hand side, description and modes.
local KEYS = {
  a = { '<Plug>(acp-prompt)', 'write a prompt', { 'n', 'x' } },
  g = { '<Plug>(acp-operator)', 'prompt on a motion', { 'n', 'x' } },
  i = { '<Plug>(acp-edit)', 'edit in place', { 'n', 'x' } },
  l = { ':Acp ask<CR>', 'prompt library', { 'n', 'x' } },
  c = { '<Plug>(acp-chat)', 'show or hide chat' },
  x = { '<Plug>(acp-cancel)', 'stop the agent' },
  y = { '<Plug>(acp-allow)', 'allow' },
  Y = { '<Plug>(acp-allow-always)', 'allow always' },
  n = { '<Plug>(acp-deny)', 'deny' },
  N = { '<Plug>(acp-deny-always)', 'deny always' },
  r = { '<Cmd>Acp review<CR>', 'review all edits' },
  e = { '<Cmd>Acp edits<CR>', 'list edits' },
  A = { '<Cmd>Acp accept file<CR>', 'accept this file' },
  R = { '<Cmd>Acp reject file<CR>', 'reject this file' },
  o = { '<Cmd>Acp new<CR>', 'new session' },
  v = { '<Cmd>Acp overview<CR>', 'overview' },
  h = { '<Cmd>Acp history<CR>', 'history' },
  m = { '<Cmd>Acp mode<CR>', 'mode' },
  p = { '<Cmd>Acp plan<CR>', 'show or hide plan' },
  s = { '<Cmd>Acp sessions open<CR>', 'open a session' },
  S = { '<Cmd>Acp sessions<CR>', 'change a session' },
  q = { '<Cmd>Acp queue<CR>', 'waiting prompts' },
  k = { '<Cmd>Acp checkpoints<CR>', 'checkpoints' },
  f = { '<Plug>(acp-follow)', 'follow the agent' },
}

local own_maps = {} ---@type { mode: string, lhs: string, rhs: string }[]

local function is_own(map)
  local now = vim.fn.maparg(map.lhs, map.mode, false, true)
  return now.rhs == map.rhs and now.buffer == 0
end

--- Remove the keys set earlier, and set those of the option.
function M.refresh()
  for _, map in ipairs(own_maps) do
    if is_own(map) then vim.keymap.del(map.mode, map.lhs) end
  end
  own_maps = {}
  local keymaps = require('acp.config').get().keymaps
  local preset = keymaps and keymaps.preset
  if not preset then return end
  for key, of in pairs(KEYS) do
    for _, mode in ipairs(of[3] or { 'n' }) do
      local map = { mode = mode, lhs = (preset == true and PREFIX or preset) .. key, rhs = of[1] }
      if vim.fn.maparg(map.lhs, mode) == '' then
        vim.keymap.set(mode, map.lhs, map.rhs, { desc = 'acp: ' .. of[2], silent = true })
        table.insert(own_maps, map)
      end
    end
  end
end

return M
