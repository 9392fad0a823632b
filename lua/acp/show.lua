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
  require('acp.buffer').fill(bufnr, shown[bufnr].lines, shown[bufnr].spans, ns)
end

--- Filetypes of lists that have keys of their own, and a line above them that says so.
local KEYS = { acpcheckpoints = 'checkpoints' }

---@param bufnr integer
---@param filetype string
local function attach(bufnr, filetype)
  require('acp.keymaps').attach(KEYS[filetype] or 'view', bufnr)
  require('acp.buffer').on_read(bufnr, function()
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
  require('acp.highlights').define()
  local window = require('acp.window')
  local bufnr, created = require('acp.buffer').ensure(uri(name), filetype)
  if created then
    attach(bufnr, filetype)
  end
  refill(bufnr, lines, spans)
  local enter = M.waiting()
  local win = window.showing(bufnr)
  if not win then
    local height = math.min(math.max(#lines, 3), math.floor(vim.o.lines * 0.5))
    local bar = KEYS[filetype] and require('acp.' .. KEYS[filetype]).hint(bufnr)
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
