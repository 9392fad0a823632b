--- Windows with text one only reads: info, log, exports, lists.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.show')

--- Where the user was when they last asked for something that is shown.
local asked ---@type { at: table, cursor: integer[] }|nil

local function place()
  return { at = require('acp.ui.win').place(), cursor = vim.api.nvim_win_get_cursor(0) }
end

--- The user has asked: what comes may take the focus, unless they do something else meanwhile.
function M.expect() asked = place() end

--- Whether the user still waits, in Normal mode, where they asked; true once.
function M.waiting()
  local here = asked
  asked = nil
  return here ~= nil and vim.api.nvim_get_mode().mode == 'n' and vim.deep_equal(here, place())
end

--- The text of each buffer, for `:edit`.
local shown = {} ---@type table<integer, { lines: string[], spans?: acp.Span[] }>

local function fill(bufnr)
  require('acp.ui.scratch').fill(bufnr, shown[bufnr].lines, shown[bufnr].spans, ns)
end

--- Filetypes of lists that have keys of their own.
local KEYS = { acpcheckpoints = 'checkpoints' }

--- Words for the keys of the list of checkpoints, and of what stands in its place.
local LIST = { changes = 'diff', restore = 'restore', undo = 'undo it', help = 'keys' }
local BACK = { close = 'back to the list', help = 'keys' }

--- The list of checkpoints that a buffer is, or has come in the place of.
---@return string|nil name
local function list_of(name)
  local n = name:match('^acp://checkpoints/(%d+)$') or name:match('^acp://changes/(%d+)/')
  return n and 'acp://checkpoints/' .. n
end

--- What stands above the list of checkpoints and above the changes since one; other texts have
--- nothing there.
---@return string|nil
local function winbar(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  if not list_of(name) then return nil end
  local n, prompt = name:match('^acp://%a+/(%d+)/?(%d*)$')
  local title = prompt == '' and ('Checkpoints · session %s'):format(n)
    or ('Changes since prompt %s · session %s'):format(prompt, n)
  local window, words = 'view', BACK
  if prompt == '' then
    window, words = 'checkpoints', LIST
  end
  local keys = require('acp.ui.win').literal(require('acp.ui.keymaps').words(window, words))
  return (' %%#AcpTitle#%s%%* %%<%%= %s '):format(title, keys)
end

local function attach(bufnr, filetype)
  require('acp.ui.keymaps').attach(KEYS[filetype] or 'view', bufnr)
  require('acp.ui.scratch').on_read(bufnr, function() fill(bufnr) end)
  require('acp.base.autocmds').in_buffer(bufnr, 'BufWipeout', function() shown[bufnr] = nil end)
end

--- A buffer name of ours: `acp://` in front where it is missing.
local function uri(name) return name:match('^%a[%w+.-]*://') and name or 'acp://' .. name end

--- Windows that stand at the end of a log go on standing there.
---@param spans? acp.Span[]
local function refill(bufnr, lines, spans)
  local is_log = vim.bo[bufnr].filetype == 'acplog'
  local at_end = vim.tbl_filter(
    function(win) return vim.fn.line('.', win) == vim.fn.line('$', win) end,
    is_log and vim.fn.win_findbuf(bufnr) or {}
  )
  shown[bufnr] = { lines = lines, spans = spans }
  fill(bufnr)
  for _, win in ipairs(at_end) do
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(bufnr), 0 })
  end
end

---@return acp.OpenOpts
local function place_below(bufnr, bar)
  local lines = vim.api.nvim_buf_line_count(bufnr)
  local height = math.min(math.max(lines, 3), math.floor(vim.o.lines * 0.5))
  return { layout = 'bottom', size = height + (bar and 1 or 0), options = { winbar = bar } }
end

--- The window of this tab page that shows the list of checkpoints, or the changes since one.
---@return integer|nil win
local function pane(list)
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(win)
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
    return vim.w[win].acp and list_of(name) == list
  end)
end

--- Show a buffer in a window of ours in place of what is there.
---@param opts acp.OpenOpts
local function replace(win, bufnr, opts)
  require('acp.ui.window').when_free(function()
    if not vim.api.nvim_win_is_valid(win) then return end
    require('acp.ui.window').replace(win, bufnr, opts)
    if not require('acp.ui.win').floats(win) then vim.api.nvim_win_set_height(win, opts.size) end
  end)
end

--- Show lines in a window at the bottom, or where this name is shown already; the changes since a
--- checkpoint come in place of the list.
---@param name string of the buffer; `acp://` is put in front where it is missing
---@param spans? acp.Span[]
function M.open(name, filetype, lines, spans)
  require('acp.ui.highlights').define()
  local bufnr, created = require('acp.ui.scratch').ensure(uri(name), filetype)
  if created then attach(bufnr, filetype) end
  refill(bufnr, lines, spans)
  local opts = place_below(bufnr, winbar(bufnr))
  opts.enter, opts.last = M.waiting(), filetype == 'acplog'
  local list = list_of(uri(name))
  local win = list and pane(list)
  if win and vim.api.nvim_win_get_buf(win) ~= bufnr then
    replace(win, bufnr, opts)
  else
    require('acp.ui.window').show(bufnr, opts)
  end
end

--- The key that closes such a window: where a list was before, it is back.
---@param bufnr integer what the current window shows
function M.close(bufnr)
  local win = vim.api.nvim_get_current_win()
  local name = vim.api.nvim_buf_get_name(bufnr)
  local list = list_of(name) ~= name and list_of(name)
  local before = list and require('acp.ui.scratch').find(list)
  if before and shown[before] then
    replace(win, before, place_below(before, winbar(before)))
  else
    require('acp.ui.window').close(win)
  end
end

return M
