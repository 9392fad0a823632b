--- Prompts that the agent suggests (rfds/prompt-suggestions): ghost text in an empty composer, and
--- a key that takes one. The key is there only while it does something.
local M = {}

local WINDOW = 'suggestion'
local known = {} ---@type table<integer, string[]|nil> what a composer showed last

--- The suggestions of a session that waits for a prompt.
---@return string[]
local function of(n)
  local session = require('acp.base.state').get().sessions[n]
  return session and session.status == 'idle' and session.suggestions or {}
end

--- Whether what an empty composer shows has changed since it was drawn.
---@return boolean
function M.changed(n) return not vim.deep_equal(known[n] or {}, of(n)) end

--- What an empty composer shows in place of its own words: the likeliest suggestion, and its key.
---@param width integer cells
---@return string|nil
function M.ghost(n, width)
  local text = of(n)[1]
  known[n] = of(n)
  if not text then return nil end
  local keys = require('acp.ui.keymaps').list(WINDOW)
  local hint = keys[1] and '  ' .. require('acp.ui.key_names').spelled(keys[1].key) or ''
  local line = require('acp.base.notify').one_line(text)
  return require('acp.base.notify').cut(line, width - #hint - 1) .. hint
end

--- The one that comes next after what is written: after nothing the first one.
---@param written string
---@return string|nil
function M.next(n, written)
  local list = of(n)
  if written == '' then return list[1] end
  for i, text in ipairs(list) do
    if text == written then return list[i % #list + 1] end
  end
end

--- The key is the user's own again where it would take nothing.
---@param written string
function M.bind(n, bufnr, written)
  local keymaps = require('acp.ui.keymaps')
  if M.next(n, written) then
    keymaps.attach_over(WINDOW, bufnr)
  else
    keymaps.detach(WINDOW, bufnr)
  end
end

return M
