--- Completion of `:Acp`'s arguments, from tables and caches alone; nothing here waits.
local M = {}

local valid_names = require('acp.base.valid_names')

--- Words of a command line before the one under the cursor, the command itself left out.
local function before(line)
  -- A space that a backslash quotes is part of its word.
  local text = line:gsub('^.-Acp!?%s+', '', 1):gsub('\\ ', '\1')
  local words = {}
  for word in text:gmatch('%S+%s') do
    words[#words + 1] = (vim.trim(word):gsub('\1', ' '))
  end
  return words
end

--- Completion of `:Acp`, as |command-completion-customlist|.
---@param lead string
---@param line string
---@param pos integer
---@return string[]
function M.command(lead, line, pos)
  local subcommands = require('acp.command.subcommands')
  local words = before(line:sub(1, pos))
  local name = table.remove(words, 1)
  if not name then
    return valid_names.matching(subcommands.names(), lead)
  end
  local sub = subcommands.list[name] or subcommands.list[name:match('^(.+)!$')]
  local max = sub and sub.max or 0
  if not sub or not sub.values or (max >= 0 and #words >= max) then
    return {}
  end
  local plain = lead:gsub('\\ ', ' ')
  return vim.tbl_map(function(value)
    return (value:gsub('([ \\])', '\\%1'))
  end, valid_names.matching(sub.values(words, plain), plain))
end

return M
