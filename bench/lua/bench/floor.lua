--- The floor's half in Neovim: text at the end of a buffer, and nothing else.
local M = {}

local api = vim.api
local bufnr, channel, window
local rows = {}
local asked = {} ---@type {[1]: integer, [2]: string, [3]: string[]}[] the questions that are open
local card, card_window

--- Send a prompt, starting the host on first use.
---@param text string
---@param opts? { new: boolean } whether to open a new session
function M.prompt(text, opts)
  if not channel then
    channel = vim.fn.jobstart(_G.bench_floor_command, { rpc = true, cwd = _G.bench_root })
  end
  vim.rpcnotify(channel, 'acp', 'prompt', { text = text, new = opts ~= nil and opts.new })
end

--- Cancel the turn.
function M.cancel() vim.rpcnotify(channel, 'acp', 'cancel', {}) end

---@return integer
function M.channel() return channel end

---@return integer
function M.bufnr() return bufnr end

--- Show a prompt, in a new chat unless its session is the last one.
---@param text string
---@param is_new boolean
function M.begin(text, is_new)
  local lines = { '## You', text, '', '' }
  if not is_new then return api.nvim_buf_set_lines(bufnr, -1, -1, true, lines) end
  bufnr, rows = api.nvim_create_buf(false, true), {}
  vim.bo[bufnr].undolevels = -1
  api.nvim_buf_set_lines(bufnr, 0, -1, true, lines)
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

--- Draw the tool calls in their present state. Only the last one may grow.
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

--- Show the first open question and its options in a float. Close the float if there is none.
local function show_card()
  local first = asked[1]
  if not first then
    if card_window then api.nvim_win_close(card_window, true) end
    card_window = nil
    return
  end
  local lines = { first[2] }
  for i, option in ipairs(first[3]) do
    lines[i + 1] = ('  %d. %s'):format(i, option.name)
  end
  card = card or api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(card, 0, -1, true, lines)
  card_window = api.nvim_open_win(card, false, {
    relative = 'editor',
    anchor = 'NE',
    row = 0,
    col = vim.o.columns,
    width = 40,
    height = #lines,
    style = 'minimal',
    border = 'rounded',
    title = (' %d questions '):format(#asked),
    zindex = 45,
  })
end

--- Show the questions of the agent: a line in the chat and an event for each, a card for the first.
---@param questions {[1]: integer, [2]: string, [3]: table[]}[] id, title and options
function M.questions(questions)
  local lines = {}
  for i, question in ipairs(questions) do
    lines[i] = ('○ %s · permission needed'):format(question[2])
    asked[#asked + 1] = question
  end
  local at = api.nvim_buf_line_count(bufnr)
  api.nvim_buf_set_lines(bufnr, -1, -1, false, lines)
  api.nvim_win_set_cursor(window, { api.nvim_buf_line_count(bufnr), 0 })
  for i, question in ipairs(questions) do
    rows[question[1]] = at + i - 1
  end
  if not card_window then
    show_card()
  else
    api.nvim_win_set_config(card_window, { title = (' %d questions '):format(#asked) })
  end
  for _, question in ipairs(questions) do
    api.nvim_exec_autocmds('User', {
      pattern = 'AcpPermission',
      modeline = false,
      data = { session = 1, id = question[1], title = question[2], options = question[3] },
    })
  end
end

--- Mark all questions as cancelled at their lines in the chat, and close the card.
function M.cancelled()
  local first, lines = rows[asked[1][1]], {}
  for i, question in ipairs(asked) do
    lines[i] = ('⊘ %s · cancelled'):format(question[2])
  end
  api.nvim_buf_set_lines(bufnr, first, first + #lines, true, lines)
  asked = {}
  show_card()
end

function M.done() _G.bench_done() end

---@param path string
---@return string[]
function M.read(path) return api.nvim_buf_get_lines(vim.fn.bufnr(path), 0, -1, true) end

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
  api.nvim_buf_call(buffer, function() vim.cmd('silent write') end)
end

return M
