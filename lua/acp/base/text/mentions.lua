--- Mentions (`@path`) in a text.
local M = {}

local paths_of = require('acp.base.paths')

--- Return the file or directory that a name in a prompt refers to, nil if there is none.
---@param name string text after the `@`
---@return string|nil path absolute
local function find_file(name, cwd)
  local home = name:match('^~/') and vim.uv.os_homedir()
  for _, try in ipairs({ paths_of.unquoted(name), name }) do
    local path = paths_of.absolute(home and home .. try:sub(2) or try, cwd)
    local stat = vim.uv.fs_stat(path)
    if stat and (stat.type == 'file' or stat.type == 'directory') then return path end
  end
end

--- Number of further words that a name with blanks may have, and its greatest length in bytes.
local MORE_WORDS, LONGEST = 8, 4096

--- Return the file that a mention names. The name may end before punctuation. Blanks in it need no
--- backslashes if no shorter name exists.
---@param rest string the text after the `@`
---@return string|nil path
---@return string name as written; up to the first blank if there is no such file
local function mentioned(rest, cwd)
  local masked = rest:gsub('\\[%p%s]', '\0\0')
  local word ---@type string|nil
  for count = 0, MORE_WORDS do
    local last = masked:match('^%S+' .. ('[ \t]+%S+'):rep(count) .. '()')
    if not last then break end
    local name = rest:sub(1, last - 1) ---@type string|nil
    word = word or name --[[@as string]]
    while name do
      local path = find_file(name, cwd)
      if path then return path, name end
      name = name:match('^(.+)[.,:;!?)%]]$') -- "see @lua/acp.lua." ends with a full stop
    end
  end
  return nil, word --[[@as string]]
end

---@class acp.Mention
---@field path? string absolute; nil if there is no such file
---@field name string text after the `@`
---@field first integer byte of its `@`, 1-based
---@field last integer its last byte

--- Return all mentions (`@path`) in a text.
---@return acp.Mention[]
local function all_mentions(text, cwd)
  local found = {}
  local masked = (' ' .. text):gsub('\\[%p%s]', '\0\0')
  for at in masked:gmatch('%s()@[^%s{]') do
    local path, name = mentioned(text:sub(at, at + LONGEST), cwd)
    found[#found + 1] = { path = path, name = name, first = at - 1, last = at - 1 + #name }
  end
  return found
end

--- Return the files and directories named as `@path` in a text, and the mentions that name none.
---@return string[] paths absolute
---@return string[] missing
function M.paths(text, cwd)
  local found, missing, seen = {}, {}, {}
  for _, mention in ipairs(all_mentions(text, cwd)) do
    local path = mention.path
    if not path then
      missing[#missing + 1] = '@' .. mention.name
    elseif not seen[path] then
      seen[path] = true
      found[#found + 1] = path
    end
  end
  return found, missing
end

--- Return the mention at a column of a line, if it names a file or a directory.
---@param col integer 1-based
---@return acp.Mention|nil
function M.at(line, col, cwd)
  for _, mention in ipairs(all_mentions(line, cwd)) do
    if mention.path and mention.first <= col and col <= mention.last then return mention end
  end
end

return M
