--- Lines that an agent shows to the user, marked in their buffers with a short text. The marks are
--- removed when the session's next turn begins.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.shown')

---@class acp.ShownLines
---@field session integer
---@field path string resolved path
---@field first integer 1-based
---@field last integer
---@field text string one line, or ''

local shown = {} ---@type acp.ShownLines[]

---@param mark acp.ShownLines
local function draw(bufnr, mark)
  local count = api.nvim_buf_line_count(bufnr)
  local first, last = math.min(mark.first, count), math.min(mark.last, count)
  for line = first, last do
    api.nvim_buf_set_extmark(bufnr, ns, line - 1, 0, { line_hl_group = 'AcpShown' })
  end
  if mark.text ~= '' then
    local text = { { '  ' .. mark.text, 'AcpShownText' } }
    api.nvim_buf_set_extmark(bufnr, ns, first - 1, 0, { virt_text = text })
  end
end

--- Draw the marks of files that are opened later.
local watch = require('acp.base.once')(function()
  require('acp.base.autocmds').group('acp.shown')('BufReadPost', function(args)
    local real = vim.uv.fs_realpath(api.nvim_buf_get_name(args.buf))
    api.nvim_buf_clear_namespace(args.buf, ns, 0, -1)
    for _, mark in ipairs(shown) do
      if mark.path == real then draw(args.buf, mark) end
    end
  end)
end)

--- Mark lines. A window that follows the agent goes there.
---@param mark acp.ShownLines
function M.show(mark)
  require('acp.ui.highlights').define()
  watch()
  shown[#shown + 1] = mark
  require('acp.base.signals').emit('lines_shown', mark.session, mark.path, mark.first)
  local bufnr = require('acp.buffers.loaded').buffer(mark.path)
  if bufnr then draw(bufnr, mark) end
end

---@param session integer
function M.clear(session)
  local left = vim.tbl_filter(function(mark) return mark.session ~= session end, shown)
  if #left == #shown then return end
  shown = left
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
  end
  for _, mark in ipairs(shown) do
    local bufnr = require('acp.buffers.loaded').buffer(mark.path)
    if bufnr then draw(bufnr, mark) end
  end
end

return M
