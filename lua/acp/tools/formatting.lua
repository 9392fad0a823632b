--- Formatting by the options that a user has set for it: 'formatexpr', else 'equalprg'.
local M = {}

local api = vim.api
local PROGRAM_MS = 9000

--- What Neovim sets by itself where a language server formats: that has been asked.
local OF_SERVERS = 'vim%.lsp%.formatexpr'

--- 'formatexpr' of the buffers that are formatted here.
local expressions = {} ---@type table<integer, string>

--- A buffer with this text and the options of another, which nobody sees.
local function copy(bufnr, lines)
  local scratch = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(scratch, 0, -1, false, lines)
  for _, name in ipairs({ 'expandtab', 'shiftwidth', 'softtabstop', 'tabstop', 'textwidth' }) do
    vim.bo[scratch][name] = vim.bo[bufnr][name]
  end
  return scratch
end

--- The 'formatexpr' of such a buffer: the user's, after which Neovim formats nothing itself.
---@return integer
function M.evaluate()
  api.nvim_eval(expressions[api.nvim_get_current_buf()])
  return 0
end

---@param question acp.FormatQuestion
local function by_expression(bufnr, question)
  local scratch = copy(bufnr, question.lines)
  expressions[scratch] = vim.bo[bufnr].formatexpr
  vim.bo[scratch].formatexpr = "v:lua.require'acp.tools.formatting'.evaluate()"
  local range = question.range or { 0, #question.lines - 1 }
  local ok, err = pcall(api.nvim_buf_call, scratch, function()
    api.nvim_win_set_cursor(0, { range[1] + 1, 0 })
    vim.cmd(('silent keepjumps normal! gq%dG'):format(range[2] + 1))
  end)
  local lines = api.nvim_buf_get_lines(scratch, 0, -1, false)
  expressions[scratch] = nil
  api.nvim_buf_delete(scratch, { force = true })
  if not ok then error(('formatexpr: %s'):format(tostring(err):gsub('^[^\n]-:%d+: ', '')), 0) end
  return lines
end

--- Such a program reads lines and prints them as they should be.
---@param reply acp.Reply
---@param question acp.FormatQuestion
local function by_program(reply, program, question)
  local range = question.range
  local lines = range and vim.list_slice(question.lines, range[1] + 1, range[2] + 1)
    or question.lines
  local argv = { vim.o.shell }
  vim.list_extend(argv, vim.split(vim.o.shellcmdflag, '%s+', { trimempty = true }))
  argv[#argv + 1] = program
  local input = table.concat(lines, '\n') .. '\n'
  local running = vim.system(argv, { stdin = input, timeout = PROGRAM_MS }, function(ended)
    if ended.code ~= 0 then
      local said = vim.trim(ended.stderr or ''):sub(1, 300)
      return reply(nil, ('equalprg: %s'):format(said ~= '' and said or 'code ' .. ended.code))
    end
    local found = vim.split((ended.stdout:gsub('\n$', '')), '\n', { plain = true })
    if not range then return reply({ lines = found }) end
    local all = vim.list_slice(question.lines, 1, range[1])
    vim.list_extend(all, found)
    vim.list_extend(all, question.lines, range[2] + 2)
    reply({ lines = all, ranged = true })
  end)
  return function() running:kill('sigterm') end
end

--- The options of a buffer that format it: an expression or a program, empty if they are not set.
---@return string expression
---@return string program
local function set(bufnr)
  local expression, program = vim.bo[bufnr].formatexpr, vim.bo[bufnr].equalprg
  if expression ~= '' and not expression:find(OF_SERVERS) then return expression, '' end
  return '', program ~= '' and program or vim.o.equalprg
end

--- The option that formats a buffer, with its value; empty if there is none.
---@return string
function M.option(bufnr)
  local expression, program = set(bufnr)
  if expression ~= '' then return 'formatexpr:' .. expression end
  return program ~= '' and 'equalprg:' .. program or ''
end

--- Format a text by the options of its file; the buffer stays as it is. Answers with `lines` if one
--- of them is set.
---@param reply acp.Reply
---@param question acp.FormatQuestion
---@return fun()|nil cancel
function M.by_options(reply, question)
  local bufnr, why = require('acp.tools.hidden').buffer(question.path, question.session)
  if not bufnr then return reply(nil, why) end
  local expression, program = set(bufnr)
  if expression ~= '' then
    return reply({ lines = by_expression(bufnr, question), ranged = question.range ~= nil })
  end
  if program == '' then return reply(vim.empty_dict()) end
  return by_program(reply, program, question)
end

return M
