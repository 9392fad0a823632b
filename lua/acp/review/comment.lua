--- Remarks on hunks: shown where they were made until they go to the agent with the next prompt.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.comments')

--- Take all markers away.
local function clear()
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
  end
end

local watch = require('acp.once')(function()
  require('acp.highlights').define()
  api.nvim_create_autocmd('User', {
    group = api.nvim_create_augroup('acp.comments', {}),
    pattern = 'AcpTurnStart',
    callback = clear,
  })
end)

--- The buffer and row that a remark made here stands at: in the live text, also when it is made on
--- the other side of the review.
---@param here { path: string, line: integer, bufnr: integer }
---@return integer bufnr
---@return integer row
local function place(here)
  local bufnr = require('acp.review.live').buffer(here.path) or here.bufnr
  return bufnr, math.min(here.line, api.nvim_buf_line_count(bufnr)) - 1
end

--- A remark on the hunk under the cursor, or on the line where there is none.
---@param text string
function M.add(text)
  local here = require('acp.hunk').here()
  if here.path == '' then
    require('acp.notify').error('this buffer has no file')
    return
  end
  local bufnr, row = place(here)
  local context = api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1]
  local args = vim.tbl_extend('force', here, { text = text, context = context })
  if not require('acp.host').notify('comment', args) then
    return
  end
  watch()
  api.nvim_buf_set_extmark(bufnr, ns, row, 0, {
    virt_text = { { '» ' .. require('acp.notify').one_line(text), 'AcpComment' } },
    virt_text_pos = 'eol',
    invalidate = true,
    undo_restore = false,
  })
end

return M
