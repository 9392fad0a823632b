--- Detection of command lines that refer to lines by number. An edit above these lines would make
--- the command change other lines.
local M = {}

local fn = vim.fn

--- Commands whose argument is a line number, or keys that may start with one.
local BY_ARGUMENT = { 'move', 'copy', 't', 'normal' }

--- Commands whose argument may be such a command, or an expression with a line number.
local BY_EXPRESSION = vim.split('global vglobal call eval execute lua let echo', ' ')

--- Commands and modifiers that are followed by another command.
local PREFIXES =
  vim.split('silent unsilent noautocmd lockmarks sandbox verbose windo bufdo tabdo argdo', ' ')

--- Strip a command of its colon, and of marks and `%`, which move with the text.
---@param command string
local function without_marks(command)
  local rest = command:gsub('^[%s:]+', '')
  while rest:find("^'.") or rest:find('^[%%,;%s]') do
    rest = rest:sub(rest:find("^'") and 3 or 2)
  end
  return rest
end

--- Return whether one command refers to lines by number.
local function by_number(command)
  local rest = without_marks(command)
  if rest:find('^[%d.$+%-/?\\]') then return true end
  local word, argument = rest:match('^(%a+)!?(.*)$')
  local name = word and fn.fullcommand(word) or ''
  local keeps = word and word:find('^kee') -- Neovim 0.10 takes these for `:k`
  if keeps or vim.tbl_contains(PREFIXES, name) then return by_number(argument) end
  if vim.tbl_contains(BY_EXPRESSION, name) then return argument:find('%d') ~= nil end
  return vim.tbl_contains(BY_ARGUMENT, name)
end

--- Return whether a command in a line refers to lines by number.
---@param line string
function M.refers_to_lines(line)
  return vim.iter(vim.split(line, '|', { plain = true })):any(by_number)
end

return M
