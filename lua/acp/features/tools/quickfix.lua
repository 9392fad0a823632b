--- Access to the quickfix list. No window is opened.
local M = {}

local api, fn = vim.api, vim.fn

--- Return a line of a buffer, or nil if the buffer is not loaded.
local function line_of(bufnr, lnum)
  if bufnr <= 0 or not api.nvim_buf_is_loaded(bufnr) then return nil end
  return api.nvim_buf_get_lines(bufnr, lnum - 1, lnum, false)[1]
end

--- Return the title of the current list and its items `{ path, line, column, text }`.
function M.read()
  local list, items = fn.getqflist({ title = 0, items = 0 }), {}
  for _, item in ipairs(list.items) do
    if item.bufnr > 0 then
      local name = api.nvim_buf_get_name(item.bufnr)
      local line = line_of(item.bufnr, item.lnum)
      local before = line and line:sub(1, math.max(item.col - 1, 0))
      items[#items + 1] = {
        path = vim.uv.fs_realpath(name) or name,
        line = math.max(item.lnum, 1),
        column = before and fn.strchars(before) + 1 or math.max(item.col, 1),
        text = item.text,
      }
    end
  end
  return { title = list.title, items = items }
end

--- Add a new list. Earlier ones stay in |:chistory|.
---@param items { path: string, line: integer, column?: integer, text: string }[]
---@param title string
function M.set(items, title)
  local list = vim.tbl_map(function(item)
    local bufnr = fn.bufexists(item.path) == 1 and fn.bufadd(item.path) or 0
    local line = line_of(bufnr, item.line)
    local column = item.column or 0
    if line and column > 0 then column = fn.byteidxcomp(line .. ' ', column - 1) + 1 end
    return {
      filename = fn.fnamemodify(item.path, ':.'),
      lnum = item.line,
      col = column,
      text = item.text,
    }
  end, items)
  fn.setqflist({}, ' ', { title = title, items = list })
end

return M
