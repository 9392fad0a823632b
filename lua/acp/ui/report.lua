--- Windows with text one only reads: info, log, exports, lists.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.show')

---@class acp.Asked
---@field win integer
---@field buf integer
---@field cursor integer[]

--- Where the user was when he last asked for something that is shown.
local asked ---@type acp.Asked|nil

---@return acp.Asked
local function place()
  local win = vim.api.nvim_get_current_win()
  return {
    win = win,
    buf = vim.api.nvim_win_get_buf(win),
    cursor = vim.api.nvim_win_get_cursor(win),
  }
end

--- The user has asked: what comes may take the focus, unless he does something else meanwhile.
function M.expect()
  asked = place()
end

--- Whether the user still waits, in Normal mode, where he asked; true once.
---@return boolean
function M.waiting()
  local here = asked
  asked = nil
  return here ~= nil and vim.api.nvim_get_mode().mode == 'n' and vim.deep_equal(here, place())
end

--- What each buffer shows, for `:edit`.
local shown = {} ---@type table<integer, { lines: string[], spans?: acp.Span[] }>

---@param bufnr integer
local function fill(bufnr)
  require('acp.ui.scratch').fill(bufnr, shown[bufnr].lines, shown[bufnr].spans, ns)
end

--- Filetypes of lists that have keys of their own.
local KEYS = { acpcheckpoints = 'checkpoints' }

--- What their keys do, in the line above them.
local WORDS =
  { changes = 'what changed', restore = 'restore', undo = 'undo the restore', help = 'keys' }

--- What stands above a list of checkpoints.
---@param bufnr integer
---@return string
local function hint(bufnr)
  local n = vim.api.nvim_buf_get_name(bufnr):match('(%d+)$')
  local keys = require('acp.ui.keymaps').words('checkpoints', WORDS):gsub('%%', '%%%%')
  return (' %%#AcpTitle#before each prompt of session %s%%* %%<%%= %s '):format(n, keys)
end

---@param bufnr integer
---@param filetype string
local function attach(bufnr, filetype)
  require('acp.ui.keymaps').attach(KEYS[filetype] or 'view', bufnr)
  require('acp.ui.scratch').on_read(bufnr, function()
    fill(bufnr)
  end)
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = bufnr,
    callback = function()
      shown[bufnr] = nil
    end,
  })
end

--- A buffer name of ours: `acp://` in front where it is missing.
---@param name string
---@return string
local function uri(name)
  return name:match('^%a[%w+.-]*://') and name or 'acp://' .. name
end

--- Windows that stand at the end of a log go on standing there.
---@param bufnr integer
---@param lines string[]
---@param spans? acp.Span[]
local function refill(bufnr, lines, spans)
  local at_end = {}
  for _, win in ipairs(vim.bo[bufnr].filetype == 'acplog' and vim.fn.win_findbuf(bufnr) or {}) do
    if vim.fn.line('.', win) == vim.fn.line('$', win) then
      at_end[#at_end + 1] = win
    end
  end
  shown[bufnr] = { lines = lines, spans = spans }
  fill(bufnr)
  for _, win in ipairs(at_end) do
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(bufnr), 0 })
  end
end

--- Show lines in a window at the bottom, or where this name is shown already.
---@param name string of the buffer; `acp://` is put in front where it is missing
---@param filetype string
---@param lines string[]
---@param spans? acp.Span[]
function M.open(name, filetype, lines, spans)
  require('acp.ui.highlights').define()
  local window = require('acp.ui.window')
  local bufnr, created = require('acp.ui.scratch').ensure(uri(name), filetype)
  if created then
    attach(bufnr, filetype)
  end
  refill(bufnr, lines, spans)
  local enter = M.waiting()
  local win = window.showing(bufnr)
  if not win then
    local height = math.min(math.max(#lines, 3), math.floor(vim.o.lines * 0.5))
    local bar = KEYS[filetype] and hint(bufnr) or nil
    window.open_beside(bufnr, {
      layout = 'bottom',
      size = height + (bar and 1 or 0),
      enter = enter,
      last = filetype == 'acplog',
      options = { winbar = bar },
    })
  elseif enter then
    window.focus(win)
  end
end

return M
