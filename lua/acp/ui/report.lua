--- Windows with read-only text: info, log, exports, lists.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.show')

--- Window and cursor at the user's last request for a report.
local asked ---@type { at: table, cursor: integer[] }|nil

local function position()
  return { at = require('acp.ui.win').place(), cursor = vim.api.nvim_win_get_cursor(0) }
end

--- Let the next report take the focus, unless the user moves before it arrives.
function M.allow_focus() asked = position() end

--- Return whether the user is still in Normal mode at the place of the request. True only once.
function M.may_take_focus()
  local here = asked
  asked = nil
  return here ~= nil and vim.api.nvim_get_mode().mode == 'n' and vim.deep_equal(here, position())
end

--- The text of each buffer, for `:edit`.
local shown = {} ---@type table<integer, { lines: string[], spans?: acp.Span[] }>

local function show_text(bufnr)
  require('acp.ui.scratch').fill(bufnr, shown[bufnr].lines, shown[bufnr].spans, ns)
end

--- Filetypes with their own key table.
local KEYS = { acpcheckpoints = 'checkpoints', acprules = 'rules' }

--- Words for the keys of the checkpoint list and of the changes shown in its place.
local LIST = { changes = 'diff', restore = 'restore', undo = 'undo it', help = 'keys' }
local BACK = { close = 'back to the list', help = 'keys' }
local RULES = { remove = 'remove', help = 'keys' }

--- Return the buffer name of the checkpoint list that a buffer is or replaces.
---@return string|nil name
local function list_of(name)
  local n = name:match('^acp://checkpoints/(%d+)$') or name:match('^acp://changes/(%d+)/')
  return n and 'acp://checkpoints/' .. n
end

---@param title string
---@param window string
---@param words table<string, string> by action
local function bar(title, window, words)
  local keys = require('acp.ui.win').literal(require('acp.ui.keymaps').words(window, words))
  return (' %%#AcpTitle#%s%%* %%<%%= %s '):format(title, keys)
end

--- Return the winbar of a report that has its own keys; nil for other reports.
---@return string|nil
local function winbar(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  if vim.bo[bufnr].filetype == 'acprules' then return bar('Rules', 'rules', RULES) end
  if not list_of(name) then return nil end
  local n, prompt = name:match('^acp://%a+/(%d+)/?(%d*)$')
  if prompt == '' then return bar(('Checkpoints · session %s'):format(n), 'checkpoints', LIST) end
  return bar(('Changes since prompt %s · session %s'):format(prompt, n), 'view', BACK)
end

local function attach(bufnr, filetype)
  require('acp.ui.keymaps').attach(KEYS[filetype] or 'view', bufnr)
  require('acp.ui.scratch').on_read(bufnr, function() show_text(bufnr) end)
  require('acp.base.autocmds').in_buffer(bufnr, 'BufWipeout', function() shown[bufnr] = nil end)
end

--- Return a buffer name with a scheme: `acp://` is prepended if there is none.
local function uri(name) return name:match('^%a[%w+.-]*://') and name or 'acp://' .. name end

--- Replace the text of a buffer. Windows at the end of a log stay at its end.
---@param spans? acp.Span[]
local function replace_text(bufnr, lines, spans)
  local is_log = vim.bo[bufnr].filetype == 'acplog'
  local at_end = vim.tbl_filter(
    function(win) return vim.fn.line('.', win) == vim.fn.line('$', win) end,
    is_log and vim.fn.win_findbuf(bufnr) or {}
  )
  shown[bufnr] = { lines = lines, spans = spans }
  show_text(bufnr)
  for _, win in ipairs(at_end) do
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(bufnr), 0 })
  end
end

---@return acp.OpenOpts
local function place_below(bufnr, own_bar)
  local lines = vim.api.nvim_buf_line_count(bufnr)
  local height = math.min(math.max(lines, 3), math.floor(vim.o.lines * 0.5))
  local options = { winbar = own_bar }
  return { layout = 'bottom', size = height + (own_bar and 1 or 0), options = options }
end

--- Return the window of this tab page that shows a checkpoint list or the changes since one.
---@return integer|nil win
local function pane(list)
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(win)
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
    return vim.w[win].acp and list_of(name) == list
  end)
end

--- Show a buffer in an acp window in place of the window's buffer.
---@param opts acp.OpenOpts
local function replace(win, bufnr, opts)
  require('acp.ui.window').when_free(function()
    if not vim.api.nvim_win_is_valid(win) then return end
    require('acp.ui.window').replace(win, bufnr, opts)
    if not require('acp.ui.win').is_float(win) then vim.api.nvim_win_set_height(win, opts.size) end
    require('acp.ui.window.rows').keep(win)
  end)
end

--- Show lines in a window at the bottom, or in the window that already shows this buffer. The
--- changes since a checkpoint replace the list in its window.
---@param name string buffer name; `acp://` is prepended if it has no scheme
---@param spans? acp.Span[]
function M.open(name, filetype, lines, spans)
  require('acp.ui.highlights').define()
  local bufnr, created = require('acp.ui.scratch').ensure(uri(name), filetype)
  if created then attach(bufnr, filetype) end
  replace_text(bufnr, lines, spans)
  local opts = place_below(bufnr, winbar(bufnr))
  opts.enter, opts.last = M.may_take_focus(), filetype == 'acplog'
  local list = list_of(uri(name))
  local win = list and pane(list)
  if win and vim.api.nvim_win_get_buf(win) ~= bufnr then
    replace(win, bufnr, opts)
  else
    require('acp.ui.window').show(bufnr, opts)
  end
end

--- Close the current window, or return to the checkpoint list that it showed before.
---@param bufnr integer buffer of the current window
function M.close(bufnr)
  local win = vim.api.nvim_get_current_win()
  local name = vim.api.nvim_buf_get_name(bufnr)
  local list = list_of(name) ~= name and list_of(name)
  local before = list and require('acp.ui.scratch').find(list)
  if before and shown[before] then
    replace(win, before, place_below(before, winbar(before)))
  else
    require('acp.ui.window').leave()
  end
end

return M
