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

--- Words for their keys, in the line above them.
local WORDS =
  { changes = 'what changed', restore = 'restore', undo = 'undo the restore', help = 'keys' }

local function hint(bufnr)
  local n = vim.api.nvim_buf_get_name(bufnr):match('(%d+)$')
  local keys = require('acp.ui.win').literal(require('acp.ui.keymaps').words('checkpoints', WORDS))
  return (' %%#AcpTitle#before each prompt of session %s%%* %%<%%= %s '):format(n, keys)
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

--- Show lines in a window at the bottom, or where this name is shown already.
---@param name string of the buffer; `acp://` is put in front where it is missing
---@param spans? acp.Span[]
function M.open(name, filetype, lines, spans)
  require('acp.ui.highlights').define()
  local bufnr, created = require('acp.ui.scratch').ensure(uri(name), filetype)
  if created then attach(bufnr, filetype) end
  refill(bufnr, lines, spans)
  local height = math.min(math.max(#lines, 3), math.floor(vim.o.lines * 0.5))
  local bar = KEYS[filetype] and hint(bufnr) or nil
  require('acp.ui.window').show(bufnr, {
    layout = 'bottom',
    size = height + (bar and 1 or 0),
    enter = M.waiting(),
    last = filetype == 'acplog',
    options = { winbar = bar },
  })
end

return M
