--- Formatting with the user's 'formatexpr', or else 'equalprg'.
local M = {}

local api = vim.api
local PROGRAM_MS = 9000

--- The 'formatexpr' that Neovim sets for a language server. It is skipped, because the server has
--- already been asked.
local LSP_FORMATEXPR = 'vim%.lsp%.formatexpr'

--- The user's 'formatexpr' by scratch buffer.
local expressions = {} ---@type table<integer, string>

--- Return a hidden scratch buffer with this text and the options of another buffer.
local function copy(bufnr, lines)
  local scratch = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(scratch, 0, -1, false, lines)
  for _, name in ipairs({ 'expandtab', 'shiftwidth', 'softtabstop', 'tabstop', 'textwidth' }) do
    vim.bo[scratch][name] = vim.bo[bufnr][name]
  end
  return scratch
end

--- Evaluate the user's 'formatexpr' in the scratch buffer. The result 0 keeps Neovim from
--- formatting the text itself.
---@return integer
function M.evaluate()
  api.nvim_eval(expressions[api.nvim_get_current_buf()])
  return 0
end

---@param question acp.FormatQuestion
local function by_expression(bufnr, question)
  local scratch = copy(bufnr, question.lines)
  expressions[scratch] = vim.bo[bufnr].formatexpr
  vim.bo[scratch].formatexpr = "v:lua.require'acp.buffers.language.formatting'.evaluate()"
  local range = question.range or { 0, #question.lines - 1 }
  local ok, err = pcall(api.nvim_buf_call, scratch, function()
    api.nvim_win_set_cursor(0, { range[1] + 1, 0 })
    vim.cmd(('silent keepjumps normal! gq%dG'):format(range[2] + 1))
  end)
  local lines = api.nvim_buf_get_lines(scratch, 0, -1, false)
  expressions[scratch] = nil
  api.nvim_buf_delete(scratch, { force = true })
  if not ok then
    local message = require('acp.base.text.error_message')(err)
    error('formatexpr: ' .. message:match('^[^\n]*'), 0) -- without a traceback
  end
  return lines
end

--- Filter lines through the program of 'equalprg'.
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
      local why = vim.trim(ended.stderr or ''):sub(1, 300)
      return reply(nil, ('equalprg: %s'):format(why ~= '' and why or 'code ' .. ended.code))
    end
    local formatted = vim.split((ended.stdout:gsub('\n$', '')), '\n', { plain = true })
    if not range then return reply({ lines = formatted }) end
    local all = vim.list_slice(question.lines, 1, range[1])
    vim.list_extend(all, formatted)
    vim.list_extend(all, question.lines, range[2] + 2)
    reply({ lines = all, ranged = true })
  end)
  return function() running:kill('sigterm') end
end

--- Return the formatting options of a buffer: an expression or a program, or empty strings.
---@return string expression
---@return string program
local function options_of(bufnr)
  local expression, program = vim.bo[bufnr].formatexpr, vim.bo[bufnr].equalprg
  if expression ~= '' and not expression:find(LSP_FORMATEXPR) then return expression, '' end
  return '', program ~= '' and program or vim.o.equalprg
end

--- Return the formatting option of a buffer as `option:value`, or an empty string.
---@return string
function M.option(bufnr)
  local expression, program = options_of(bufnr)
  if expression ~= '' then return 'formatexpr:' .. expression end
  return program ~= '' and 'equalprg:' .. program or ''
end

--- Format a text according to the options of a buffer, which is not changed. Reply with `lines`, or
--- an empty table if no option is set.
---@param reply acp.Reply
---@param question acp.FormatQuestion
---@return fun()|nil cancel
function M.by_options(reply, question)
  local bufnr, why = require('acp.buffers.language.hidden').buffer(question.path, question.session)
  if not bufnr then return reply(nil, why) end
  local expression, program = options_of(bufnr)
  if expression ~= '' then
    return reply({ lines = by_expression(bufnr, question), ranged = question.range ~= nil })
  end
  if program == '' then return reply(vim.empty_dict()) end
  return by_program(reply, program, question)
end

return M
