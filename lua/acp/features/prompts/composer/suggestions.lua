--- Prompts that the agent suggests (rfds/prompt-suggestions): ghost text in an empty composer and a
--- key that inserts one. The key is mapped only while there is a suggestion to insert.
local M = {}

local WINDOW = 'suggestion'
local known = {} ---@type table<integer, string[]|nil> suggestions at the last drawing, by composer

--- Return the suggestions of a session, if it is idle.
---@return string[]
local function suggestions_of(n)
  local session = require('acp.base.state').get().sessions[n]
  return session and session.status == 'idle' and session.suggestions or {}
end

--- Return whether the suggestions have changed since the composer was drawn.
---@return boolean
function M.has_changed(n) return not vim.deep_equal(known[n] or {}, suggestions_of(n)) end

--- Return the ghost text of an empty composer: the first suggestion and its key, or nil.
---@param width integer cells
---@return string|nil
function M.ghost_text(n, width)
  local text = suggestions_of(n)[1]
  known[n] = suggestions_of(n)
  if not text then return nil end
  local keys = require('acp.ui.keymaps').list(WINDOW)
  local hint = keys[1] and '  ' .. require('acp.ui.key_names').expand(keys[1].key) or ''
  local line = require('acp.base.notify').one_line(text)
  return require('acp.base.notify').cut(line, width - #hint - 1) .. hint
end

--- Return the suggestion after the written one, or the first one if nothing is written.
---@param written string
---@return string|nil
function M.next(n, written)
  local list = suggestions_of(n)
  if written == '' then return list[1] end
  for i, text in ipairs(list) do
    if text == written then return list[i % #list + 1] end
  end
end

--- Map the key if it would insert a suggestion; otherwise restore the user's own mapping.
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
