--- `g?`: a float with the keys of a window.
local M = {}

local text_width = require('acp.base.text.width')
local key_names = require('acp.ui.key_names')

local ns = vim.api.nvim_create_namespace('acp.help')

---@param keys acp.Key[] sorted by action
---@return acp.Key[]
local function by_rank(keys)
  local at = {}
  for i, key in ipairs(keys) do
    at[key] = key_names.rank(key.action) * 100 + i
  end
  table.sort(keys, function(a, b) return at[a] < at[b] end)
  return keys
end

---@class acp.HelpRow
---@field keys string[]
---@field desc string

--- Return one row for all keys with the same action in the same modes.
---@param keys acp.Key[] in order
---@return acp.HelpRow[]
local function rows_of(keys)
  local rows, last = {}, nil
  for _, key in ipairs(keys) do
    local modes = table.concat(key.modes, ', ')
    local desc = key.desc .. (modes == 'n' and '' or (' (%s)'):format(modes))
    if last and last.desc == desc then
      table.insert(last.keys, key_names.expand(key.key))
    else
      last = { keys = { key_names.expand(key.key) }, desc = desc }
      rows[#rows + 1] = last
    end
  end
  return rows
end

--- Join the names of keys. A sequence of digits becomes its first and last: `1…3`.
local function join_names(keys)
  local text = table.concat(keys, ' ')
  local digits = #keys > 2 and ('1 2 3 4 5 6 7 8 9'):find(text, 1, true)
  return digits and keys[1] .. '…' .. keys[#keys] or text
end

---@param keys acp.Key[]
---@return string[] lines
---@return acp.Span[] spans
local function page(title, keys)
  local lines, spans = { title }, { { 0, 0, #title, 'AcpTitle' } }
  local rows, width = rows_of(by_rank(keys)), 0
  for _, row in ipairs(rows) do
    width = math.max(width, text_width(join_names(row.keys)))
  end
  for _, row in ipairs(rows) do
    local names = join_names(row.keys)
    local pad = (' '):rep(width - text_width(names))
    spans[#spans + 1] = { #lines, 2, 2 + #names, 'AcpKey' }
    lines[#lines + 1] = ('  %s%s  %s'):format(names, pad, row.desc)
  end
  return lines, spans
end

---@param words? table<string, string>
---@return string[] lines
---@return acp.Span[] spans
local function pages(window, words)
  local keymaps = require('acp.ui.keymaps')
  local keys = vim.deepcopy(keymaps.list(window))
  for _, key in ipairs(keys) do
    key.desc = words and words[key.action] or key.desc
  end
  local lines, spans = page(window, keys)
  if window == 'chat' or window == 'overview' then
    local more, marks = page('on a pending permission', keymaps.on_card())
    lines[#lines + 1] = ''
    for _, span in ipairs(marks) do
      span[1] = span[1] + #lines
    end
    vim.list_extend(lines, more)
    vim.list_extend(spans, marks)
  end
  return lines, spans
end

---@return vim.api.keyset.win_config
local function placement(lines)
  local width = 20
  for _, line in ipairs(lines) do
    width = math.max(width, text_width(line) + 2)
  end
  width = math.max(math.min(width, vim.o.columns - 4), 1)
  local height = math.max(math.min(#lines, vim.o.lines - 6), 1)
  return {
    relative = 'editor',
    row = math.max(math.floor((vim.o.lines - height) / 2) - 1, 0),
    col = math.max(math.floor((vim.o.columns - width) / 2), 0),
    width = width,
    height = height,
    style = 'minimal',
    border = require('acp.ui.win').border(),
    title = ' keys ',
    zindex = 60,
  }
end

--- Show the keys of a kind of window. `q`, `<Esc>`, `g?` and leaving the float close it. After
--- that, the previous window is the one that it was before.
---@param words? table<string, string> by action: description that replaces the usual one
function M.open(window, words)
  require('acp.ui.highlights').define()
  local lines, spans = pages(window, words)
  local bufnr = vim.api.nvim_create_buf(false, true)
  require('acp.ui.scratch').fill(bufnr, lines, spans, ns)
  vim.bo[bufnr].bufhidden = 'wipe'
  local win_of, here = require('acp.ui.win'), vim.api.nvim_get_current_win()
  local previous = win_of.previous()
  local win = vim.api.nvim_open_win(bufnr, true, placement(lines))
  vim.w[win].acp = true
  for name, value in pairs({ linebreak = true, breakindent = true, breakindentopt = 'shift:2' }) do
    vim.wo[win][name] = value
  end
  local rows = vim.api.nvim_win_text_height(win, {}).all
  vim.api.nvim_win_set_height(win, math.max(math.min(rows, vim.o.lines - 6), 1))
  local function close()
    if not vim.api.nvim_win_is_valid(win) then return end
    require('acp.ui.window').close(win)
    local is_back = here == vim.api.nvim_get_current_win()
    if is_back and previous and vim.api.nvim_win_is_valid(previous) then
      win_of.set_previous(previous)
    end
  end
  for _, key in ipairs({ 'q', '<Esc>', 'g?' }) do
    vim.keymap.set('n', key, close, { buffer = bufnr, nowait = true, silent = true })
  end
  vim.api.nvim_create_autocmd('WinLeave', {
    buffer = bufnr,
    once = true,
    callback = vim.schedule_wrap(close),
  })
end

return M
