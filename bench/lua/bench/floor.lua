--- The floor's half in Neovim: text at the end of a buffer, and nothing else.
local M = {}

local api = vim.api
local bufnr, channel, window
local rows = {}

--- Send a prompt, starting the host on first use.
---@param text string
function M.prompt(text)
  if not channel then
    channel = vim.fn.jobstart(_G.bench_floor_command, { rpc = true, cwd = _G.bench_root })
  end
  vim.rpcnotify(channel, 'acp', 'prompt', { text = text })
end

--- Cancel the turn.
function M.cancel()
  vim.rpcnotify(channel, 'acp', 'cancel', {})
end

---@return integer
function M.channel()
  return channel
end

---@return integer
function M.bufnr()
  return bufnr
end

--- A new chat, in a window beside.
---@param text string
function M.new(text)
  bufnr, rows = api.nvim_create_buf(false, true), {}
  vim.bo[bufnr].undolevels = -1
  api.nvim_buf_set_lines(bufnr, 0, -1, true, { '## You', text, '', '' })
  if window then
    api.nvim_win_set_buf(window, bufnr)
  else
    window = api.nvim_open_win(bufnr, false, { split = 'right' })
    vim.wo[window].linebreak = true
    vim.wo[window].breakindent = true
    vim.wo[window].number = false
  end
end

---@param lines string[]
function M.append(lines)
  local last = api.nvim_buf_line_count(bufnr) - 1
  api.nvim_buf_set_text(bufnr, last, -1, last, -1, lines)
  api.nvim_win_set_cursor(window, { last + #lines, 0 })
end

--- Tool calls as they are now; only the last one may grow.
---@param list {[1]: string, [2]: string[]}[]
function M.tools(list)
  for _, tool in ipairs(list) do
    local id, lines = tool[1], tool[2]
    local at = rows[id] or api.nvim_buf_line_count(bufnr)
    rows[id] = at
    api.nvim_buf_set_lines(bufnr, at, -1, false, lines)
  end
  api.nvim_win_set_cursor(window, { api.nvim_buf_line_count(bufnr), 0 })
end

--- What the agent asks, a line each.
---@param lines string[]
function M.questions(lines)
  api.nvim_buf_set_lines(bufnr, -1, -1, false, lines)
  api.nvim_win_set_cursor(window, { api.nvim_buf_line_count(bufnr), 0 })
  _G.bench_asked(#lines)
end

function M.done()
  _G.bench_done()
end

---@param path string
---@return string[]
function M.read(path)
  return api.nvim_buf_get_lines(vim.fn.bufnr(path), 0, -1, true)
end

--- Put a text into the buffer of a file by hunks, and save it.
---@param path string
---@param content string
function M.write(path, content)
  local buffer = vim.fn.bufnr(path)
  local old = table.concat(api.nvim_buf_get_lines(buffer, 0, -1, true), '\n') .. '\n'
  local lines = vim.split(content, '\n', { plain = true })
  local hunks = vim.diff(old, content, { result_type = 'indices' })
  for i = #hunks, 1, -1 do
    local first, count, new_first, new_count = unpack(hunks[i])
    local start = count == 0 and first or first - 1
    local new = vim.list_slice(lines, new_first, new_first + new_count - 1)
    api.nvim_buf_set_lines(buffer, start, start + count, true, new)
  end
  api.nvim_buf_call(buffer, function()
    vim.cmd('silent write')
  end)
end

return M
