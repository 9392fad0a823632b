--- Finds command lines that name lines by number, so that an edit above these lines would make the
--- command change others.
local M = {}

local fn = vim.fn

--- Commands that take the number of a line as their argument, or keys that may begin with one.
local BY_ARGUMENT = { 'move', 'copy', 't', 'normal' }

--- Commands whose argument may be such a command, or an expression with the number of a line.
local BY_EXPRESSION = vim.split('global vglobal call eval execute lua let echo', ' ')

--- Commands and modifiers before the command that matters.
local BEFORE =
  vim.split('silent unsilent noautocmd lockmarks sandbox verbose windo bufdo tabdo argdo', ' ')

--- The command without its colon, and without marks and `%`, which move with the text.
---@param command string
local function without_marks(command)
  local rest = command:gsub('^[%s:]+', '')
  while rest:find("^'.") or rest:find('^[%%,;%s]') do
    rest = rest:sub(rest:find("^'") and 3 or 2)
  end
  return rest
end

--- Whether one command names lines by number.
local function names_lines(command)
  local rest = without_marks(command)
  if rest:find('^[%d.$+%-/?\\]') then return true end
  local word, argument = rest:match('^(%a+)!?(.*)$')
  local name = word and fn.fullcommand(word) or ''
  local keeps = word and word:find('^kee') -- Neovim 0.10 takes these for `:k`
  if keeps or vim.tbl_contains(BEFORE, name) then return names_lines(argument) end
  if vim.tbl_contains(BY_EXPRESSION, name) then return argument:find('%d') ~= nil end
  return vim.tbl_contains(BY_ARGUMENT, name)
end

--- Whether one of the commands in a line names lines by number.
---@param line string
function M.is_one(line) return vim.iter(vim.split(line, '|', { plain = true })):any(names_lines) end

return M
