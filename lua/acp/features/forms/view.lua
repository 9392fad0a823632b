--- Forms from agents, `acp://form/{id}`: ordinary buffers. `:w` asks the host to check the form.
--- The user then confirms the answers before they are sent.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.form')
local ns_review = vim.api.nvim_create_namespace('acp.form.review')

--- Prefixes of a field's head and of a line of help, as in `session/form_page.py`.
local HEAD, HELP = '━━ ', '│ '

---@class acp.Form
---@field lines string[]
---@field cursor integer 0-based row of the first value

local function name_of(id) return 'acp://form/' .. id end

local function buffer_of(id)
  local bufnr = require('acp.ui.scratch').find(name_of(id))
  return bufnr and vim.bo[bufnr].buftype == 'acwrite' and bufnr or nil
end

--- Return the question whose form is in the current window.
---@return string|nil id
function M.current()
  local name = vim.api.nvim_buf_get_name(0)
  return vim.bo.filetype == 'acpform' and name:match('^acp://form/(.+)$') or nil
end

local function paint(bufnr)
  vim.api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
  for row, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)) do
    local group = vim.startswith(line, HEAD) and 'AcpTitle'
      or vim.startswith(line, HELP) and 'AcpMuted'
    if group then
      vim.api.nvim_buf_set_extmark(bufnr, ns, row - 1, 0, { end_col = #line, hl_group = group })
    end
  end
end

--- Remove the notes on an earlier version of the text.
local function forget(bufnr)
  vim.api.nvim_buf_clear_namespace(bufnr, ns_review, 0, -1)
  vim.diagnostic.reset(ns, bufnr)
end

local function watch(id, bufnr)
  require('acp.ui.scratch').on_write(bufnr, function()
    local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
    require('acp.base.host').notify('form_write', { id = id, lines = lines })
    vim.bo[bufnr].modified = false
  end)
  require('acp.base.autocmds').in_buffer(bufnr, { 'TextChanged', 'TextChangedI' }, function()
    forget(bufnr)
    paint(bufnr)
  end)
end

---@param form acp.Form
---@return integer bufnr
local function create(id, form)
  require('acp.ui.highlights').define()
  local bufnr = require('acp.ui.scratch').claim(name_of(id))
  require('acp.ui.scratch').set_writable(bufnr)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, form.lines)
  vim.bo[bufnr].modified = false
  paint(bufnr)
  watch(id, bufnr)
  require('acp.ui.keymaps').attach('form', bufnr)
  vim.bo[bufnr].filetype = 'acpform'
  return bufnr
end

--- Frame operation: show a form. A form that is already open keeps its text.
---@param id string
---@param form acp.Form
function M.open(id, form)
  local known = buffer_of(id)
  local bufnr = known or create(id, form)
  local enter = require('acp.ui.report').may_take_focus()
  local size = math.min(#form.lines + 1, math.floor(vim.o.lines * 0.6))
  local where = { layout = 'bottom', size = size, enter = enter }
  local win = require('acp.ui.window').show(bufnr, where)
  if win and not known then vim.api.nvim_win_set_cursor(win, { form.cursor + 1, 0 }) end
end

--- Frame operation: show the problems of a form as diagnostics.
---@param id string
---@param problems { [1]: integer, [2]: string }[] `{row, text}` of each, 0-based
function M.show_problems(id, problems)
  local bufnr = buffer_of(id)
  if not bufnr then return end
  forget(bufnr)
  -- The window has no sign column, and an empty field has no text to underline.
  vim.diagnostic.config({ virtual_text = true }, ns)
  local list = vim.tbl_map(function(problem)
    local severity = vim.diagnostic.severity.ERROR
    return { lnum = problem[1], col = 0, message = problem[2], severity = severity, source = 'acp' }
  end, problems)
  vim.diagnostic.set(ns, bufnr, list)
end

local function show_review(bufnr, lines)
  forget(bufnr)
  local shown = { { { require('acp.base.messages').form_summary, 'AcpTitle' } } }
  for _, line in ipairs(lines) do
    shown[#shown + 1] = { { '  ' .. line, 'AcpNotice' } }
  end
  local last = vim.api.nvim_buf_line_count(bufnr) - 1
  vim.api.nvim_buf_set_extmark(bufnr, ns_review, last, 0, { virt_lines = shown })
end

--- Frame operation: ask whether to send a valid form.
---@param id string
---@param lines string[] the answers, one line per field
function M.review(id, lines)
  local bufnr = buffer_of(id)
  if bufnr then show_review(bufnr, lines) end
  local messages = require('acp.base.messages')
  local prompt = messages.form_send:format(table.concat(lines, ' · '))
  require('acp.ui.pick').choose(prompt, 'form', messages.form_actions, function(index)
    if index == 1 then
      require('acp.base.host').notify('form_send', { id = id })
    elseif index == 3 then
      require('acp.base.host').notify('choose', { id = id, option = 'decline' })
    end
  end)
end

--- Frame operation: close an answered form. If the agent has withdrawn it, keep an edited buffer
--- for reading. Keep the current buffer, too: what the user types for it must not go into a file.
---@param id string
---@param outcome string
---@param by string
function M.on_closed(id, outcome, by)
  local bufnr = buffer_of(id)
  if not bufnr then return end
  local is_in_use = vim.bo[bufnr].modified or vim.api.nvim_get_current_buf() == bufnr
  if by == 'user' or not is_in_use then
    require('acp.ui.window').close_all(bufnr)
    vim.api.nvim_buf_delete(bufnr, { force = true })
    return
  end
  vim.bo[bufnr].modified = false
  vim.bo[bufnr].bufhidden = 'wipe'
  forget(bufnr)
  local author = by == 'cancel' and '' or (' (%s)'):format(by)
  local why = require('acp.base.messages').form_over:format(outcome, author)
  vim.api.nvim_buf_set_extmark(bufnr, ns_review, 0, 0, { virt_text = { { why, 'AcpWarning' } } })
  require('acp.base.notify').echo('warn', why)
end

---@return string|nil bracket
---@return string|nil indent
---@return string|nil mark
---@return string|nil rest
local function box(line)
  local indent, open, mark, rest = line:match('^(%s*)([%(%[])(.?)[%)%]](.*)$')
  return open, indent, mark, rest
end

---@param row integer 1-based
local function tick(row, ticked)
  local open, indent, _, rest = box(vim.fn.getline(row))
  local close = open == '(' and ')' or ']'
  local line = indent .. open .. (ticked and 'x' or ' ') .. close .. rest
  vim.api.nvim_buf_set_lines(0, row - 1, row, false, { line })
end

--- Untick the other choices of a group in which only one can be ticked.
---@param row integer 1-based
local function untick_around(row)
  for _, step in ipairs({ -1, 1 }) do
    local at = row + step
    while box(vim.fn.getline(at)) == '(' do
      tick(at, false)
      at = at + step
    end
  end
end

--- `<CR>`: tick or untick the box on the cursor's line.
function M.choose()
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local open, _, mark = box(vim.fn.getline(row))
  if not open then
    vim.cmd.normal({ '+', bang = true, mods = { emsg_silent = true } })
    return
  end
  if open == '(' then untick_around(row) end
  tick(row, mark ~= 'x')
end

return M
