--- Mentions (`@path`, and `@path:10-20` for lines of a file) in a text.
local M = {}

local paths_of = require('acp.base.paths')

--- Return the file or directory that a name in a prompt refers to, nil if there is none.
---@param name string
---@return string|nil path absolute
local function existing_path(name, cwd)
  local home = name:match('^~/') and vim.uv.os_homedir()
  for _, try in ipairs({ paths_of.unquote(name), name }) do
    local path = paths_of.absolute(home and home .. try:sub(2) or try, cwd)
    local stat = vim.uv.fs_stat(path)
    if stat and (stat.type == 'file' or stat.type == 'directory') then return path end
  end
end

---@class acp.Lines
---@field first integer 1-based
---@field last integer 1-based, inclusive

--- Return the file or directory that a name refers to, and the lines after its name.
---@param name string text after the `@`
---@return string|nil path absolute
---@return acp.Lines|nil lines
local function find_file(name, cwd)
  local path = existing_path(name, cwd)
  if path then return path end
  local file, first, last = name:match('^(.+):(%d+)%-?(%d*)$')
  path = file and existing_path(file, cwd)
  first, last = tonumber(first), tonumber(last) or tonumber(first)
  local is_file = path and vim.fn.isdirectory(path) == 0
  if is_file and first > 0 and first <= last then return path, { first = first, last = last } end
end

--- Maximum number of further words of a name with blanks, and its maximum length in bytes.
local MORE_WORDS, LONGEST = 8, 4096

--- Return the file that a mention names. The name may end before punctuation. Blanks in it need no
--- backslashes if no shorter name exists.
---@param rest string the text after the `@`
---@return string|nil path
---@return string name as written; up to the first blank if there is no such file
---@return acp.Lines|nil lines
local function mentioned_file(rest, cwd)
  local masked = paths_of.hide_quoted(rest)
  local word ---@type string|nil
  for count = 0, MORE_WORDS do
    local last = masked:match('^%S+' .. ('[ \t]+%S+'):rep(count) .. '()')
    if not last then break end
    local name = rest:sub(1, last - 1) ---@type string|nil
    word = word or name --[[@as string]]
    while name do
      local path, lines = find_file(name, cwd)
      if path then return path, name, lines end
      name = name:match('^(.+)[.,:;!?)%]]$') -- "see @lua/acp.lua." ends with a full stop
    end
  end
  return nil, word --[[@as string]]
end

---@class acp.Mention
---@field path? string absolute; nil if there is no such file
---@field name string text after the `@`
---@field lines? acp.Lines
---@field first integer byte of its `@`, 1-based
---@field last integer its last byte

--- Return all mentions (`@path`) in a text.
---@return acp.Mention[]
local function all_mentions(text, cwd)
  local mentions = {}
  local masked = paths_of.hide_quoted(' ' .. text) -- a mention follows a blank
  for at in masked:gmatch('%s()@[^%s{]') do
    local path, name, lines = mentioned_file(text:sub(at, at + LONGEST), cwd)
    mentions[#mentions + 1] =
      { path = path, name = name, lines = lines, first = at - 1, last = at - 1 + #name }
  end
  return mentions
end

---@class acp.MentionedFiles
---@field paths string[] files and directories, absolute
---@field ranges { path: string, first: integer, last: integer }[] lines of files
---@field missing string[] mentions that name no file

--- Return the files, directories and lines that a text mentions, each once.
---@return acp.MentionedFiles
function M.all(text, cwd)
  local mentioned, seen = { paths = {}, ranges = {}, missing = {} }, {}
  for _, mention in ipairs(all_mentions(text, cwd)) do
    local path, lines = mention.path, mention.lines
    local key = path and (lines and ('%s:%d-%d'):format(path, lines.first, lines.last) or path)
    if not path then
      table.insert(mentioned.missing, '@' .. mention.name)
    elseif not seen[key] then
      seen[key] = true
      if lines then
        table.insert(mentioned.ranges, { path = path, first = lines.first, last = lines.last })
      else
        table.insert(mentioned.paths, path)
      end
    end
  end
  return mentioned
end

--- Return the paths that a text mentions, without their lines. The files need not exist.
---@param text string
---@return string[]
function M.names(text)
  local names = {}
  local masked = paths_of.hide_quoted(' ' .. text) -- a mention follows a blank
  for first, last in masked:gmatch('%s()@[^%s{]%S*()') do
    local name = paths_of.unquote(text:sub(first, last - 2))
    names[#names + 1] = name:gsub('[.,:;!?)%]]+$', ''):gsub(':%d+%-?%d*$', '')
  end
  return names
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
