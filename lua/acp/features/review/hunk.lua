--- Actions on the pending hunk under the cursor, and moves between hunks. A hunk is an extmark of
--- namespace `acp.hunks` from its first to its last line.
local M = {}

local api = vim.api

--- Return the index in `list` of the row `count` steps from `row`. Past the ends it is outside of
--- 1..#list.
---@param list integer[] ascending
---@param count integer not 0
local function index(list, row, count)
  local before, at = 0, 0
  for i, first in ipairs(list) do
    before = first < row and i or before
    at = first <= row and i or at
  end
  return (count > 0 and at or before + 1) + count
end

--- Move the cursor to a row of the current window and add its old position to the jump list.
---@param row integer 0-based
local function go(row)
  vim.cmd("normal! m'")
  local last = api.nvim_buf_line_count(0)
  api.nvim_win_set_cursor(0, { math.max(math.min(row + 1, last), 1), 0 })
  vim.cmd('normal! ^zv')
end

--- Show a file in the current window, or in another window if the current one is not for files.
---@return integer bufnr
local function edit(path)
  local files = require('acp.buffers.loaded')
  local bufnr = files.buffer(path) or files.add(path)
  if bufnr == api.nvim_get_current_buf() then return bufnr end
  vim.bo[bufnr].buflisted = true
  vim.cmd("normal! m'")
  local is_fixed = vim.wo.winfixbuf or vim.w.acp or vim.bo.buftype ~= ''
  if is_fixed or not pcall(api.nvim_win_set_buf, 0, bufnr) then require('acp.ui.jump').to(path) end
  return bufnr
end

--- Go to a row of a file, in the review if it is the current tab page, else in the current window.
---@param row integer 0-based
function M.visit(path, row)
  local position = package.loaded['acp.features.review.position']
  if position and position.visit(path, row) then return end
  local why_not = require('acp.buffers.nofollow').why_not_shown(path)
  if why_not then
    return require('acp.base.notify').show('warn', 'not_to_open', vim.fs.basename(path), why_not)
  end
  edit(path)
  go(row)
end

--- Return the path `step` files after `here` in `paths`, wrapping around.
---@param paths string[] sorted
---@param step 1|-1
local function neighbour(paths, here, step)
  local list = vim.list_extend({}, paths)
  if not vim.list_contains(list, here) then
    list[#list + 1] = here
    table.sort(list)
  end
  local i = vim.iter(ipairs(list)):find(function(_, path) return path == here end)
  return i and list[(i - 1 + step) % #list + 1] or paths[1]
end

--- Go to the first hunk of the next file, or the last one of the previous file.
---@param step 1|-1
local function go_to_next_file(step, paths)
  local inline = require('acp.features.review.inline')
  local bufnr = api.nvim_get_current_buf()
  local here = inline.path(bufnr) or require('acp.base.places').path(bufnr)
  local path = neighbour(paths, here ~= '' and here or nil, step)
  M.visit(path, 0)
  local list = inline.rows(api.nvim_get_current_buf())
  if list[1] then go(list[step > 0 and 1 or #list]) end
end

--- Go to the next (`count` > 0) or previous pending hunk of this buffer. Past the last or first
--- one, continue in the next file with pending edits, wrapping around.
function M.jump(count)
  local inline = require('acp.features.review.inline')
  local bufnr = api.nvim_get_current_buf()
  local list, paths = inline.rows(bufnr), inline.paths()
  local others = vim.tbl_filter(function(path) return path ~= inline.path(bufnr) end, paths)
  if #list == 0 and #others == 0 then return require('acp.base.notify').show('info', 'no_hunk') end
  local at = #list > 0 and index(list, api.nvim_win_get_cursor(0)[1] - 1, count) or 0
  if list[at] then
    go(list[at])
  elseif #others == 0 then
    go(list[(at - 1) % #list + 1])
  else
    go_to_next_file(count > 0 and 1 or -1, paths)
  end
end

--- Return the path and line of the cursor, as arguments of the verbs `accept`, `reject` and
--- `comment`.
---@return { path: string, line: integer, bufnr: integer }
function M.here()
  local bufnr = api.nvim_get_current_buf()
  local side = vim.b[bufnr].acp_path
    or api.nvim_buf_get_name(bufnr):match('^acp://%a+/[^/]+//(.*)$')
  local path = side and require('acp.base.paths').absolute(side)
    or require('acp.features.review.inline').path(bufnr)
    or require('acp.base.places').path(bufnr)
  local position = package.loaded['acp.features.review.position']
  local line = position and position.line() or api.nvim_win_get_cursor(0)[1]
  local tick = not side and api.nvim_buf_get_changedtick(bufnr) or nil
  return { path = path, line = line, bufnr = bufnr, tick = tick }
end

local place = require('acp.ui.win').place
local decided_at ---@type { win: integer, buf: integer }|nil place of the user's last decision

--- Record where the user accepts or rejects a hunk. The next hunk is shown only if they are still
--- there.
function M.remember() decided_at = place() end

--- Accept or reject the hunk under the cursor, all hunks of its file, or all hunks.
---@param verb 'accept'|'reject'
---@param scope 'hunk'|'file'|'all'
function M.decide(verb, scope)
  local args = M.here()
  args.scope = scope
  if scope ~= 'all' and args.path == '' then
    return require('acp.base.notify').show('error', 'no_file')
  end
  M.remember()
  require('acp.base.host').notify(verb, args)
end

--- Go to the next hunk after one was accepted or rejected, if the user is still at the same place
--- in Normal mode.
---@param path? string nil if no hunk is left
---@param row? integer 0-based
function M.go_to_next(path, row)
  local is_there = api.nvim_get_mode().mode == 'n' and vim.deep_equal(decided_at, place())
  decided_at = nil
  if is_there and path then M.visit(path, row or 0) end
end

return M
