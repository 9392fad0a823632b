--- Order and spelling of keys that are shown to the user.
local M = {}

--- Actions in the order of importance. All others follow, sorted by their descriptions.
local ORDER = [[
  send apply finish complete act choose compose allow_once allow_always reject_once
  refuse reject_always review open changes restore restore_all undo obtain put take take_file
  accept_hunk reject_hunk next_hunk previous_hunk accept_file reject_file next_file previous_file
  next_turn previous_turn earlier later cancel
]]
local LAST = { close = 2000, help = 3000 } ---@type table<string, integer>
local rank, count = {}, 0 ---@type table<string, integer>, integer
for action in ORDER:gmatch('%S+') do
  count = count + 1
  rank[action] = count
end

---@param action string
---@return integer
function M.rank(action) return LAST[action] or rank[action] or 1000 end

--- Return a key as the user types it, with its leaders expanded.
---@param key string
---@return string
function M.expand(key)
  if key == '<2-LeftMouse>' then return 'double click' end
  local function leader(name)
    local value = vim.g[name]
    return value == ' ' and '<Space>' or value or '\\'
  end
  key = key:gsub('<[Ll]ocal[Ll]eader>', function() return leader('maplocalleader') end)
  return (key:gsub('<[Ll]eader>', function() return leader('mapleader') end))
end

return M
