--- Folds of a chat: manual ones, by the id of their block. They are window-local in Neovim, so each
--- window that shows the chat gets them anew; a list remembers where they are.
local M = {}

local api = vim.api

---@class acp.Fold
---@field id string of its block
---@field first integer row
---@field last integer row; the list is in order of these, what is within another before it
---@field title? string of one that gathers others: what it says while closed

--- Rows [first, last) became `count` rows. Folds move as Neovim's own do.
---@param chat acp.Chat
function M.splice(chat, first, last, count)
  local shift = count - (last - first)
  for i = shift == 0 and 0 or #chat.folds, 1, -1 do
    local fold = chat.folds[i]
    if fold.last < first then
      return
    elseif fold.last >= last then
      fold.last = fold.last + shift
    else
      fold.last = math.min(fold.last, first + count)
    end
    if fold.first >= last then
      fold.first = fold.first + shift
    elseif fold.first > first then
      fold.first = math.min(fold.first, first + count)
    end
  end
end

---@param chat acp.Chat
---@return acp.Fold?
local function find(chat, id)
  for i = #chat.folds, 1, -1 do
    if chat.folds[i].id == id then return chat.folds[i] end
  end
end

---@param chat acp.Chat
---@param fold acp.Fold
local function insert(chat, fold)
  local folds = chat.folds
  local at = #folds
  local function is_below(other)
    return other.last > fold.last or other.last == fold.last and other.first < fold.first
  end
  while at > 0 and is_below(folds[at]) do
    at = at - 1
  end
  table.insert(folds, at + 1, fold)
end

--- All at once: each Ex command by itself costs more than the fold.
local function run(win, commands)
  if #commands > 0 then
    api.nvim_win_call(win, function() vim.cmd(table.concat(commands, '\n')) end)
  end
end

local function fill(win)
  local last = vim.fn.line('$', win)
  if vim.fn.line('.', win) < last then return end
  api.nvim_win_call(win, function()
    local function height(first, final)
      return api.nvim_win_text_height(win, { start_row = first - 1, end_row = final - 1 }).all
    end
    local top = vim.fn.line('w0')
    local rows = vim.fn.getwininfo(win)[1].height -- without the 'winbar'
    local higher, left = top, rows - height(top, last)
    while higher > 1 and left > 0 do
      local folded = vim.fn.foldclosed(higher - 1)
      local above = folded > 0 and folded or higher - 1
      left = left - height(above, higher - 1)
      if left >= 0 then higher = above end
    end
    if higher < top then vim.fn.winrestview({ topline = higher }) end
  end)
end

--- Windows that follow the end show as much as they hold, also after lines went or are in a fold.
---@param chat acp.Chat
function M.fill(chat)
  for _, win in ipairs(chat.long and {} or vim.fn.win_findbuf(chat.bufnr)) do
    fill(win)
  end
end

--- Blocks that are to be seen, by id: those that ask.
local seen = {} ---@type table<integer, table<string, true>> by buffer

--- Make the folds of a chat in a window that shows it anew.
---@param chat acp.Chat
function M.dress(win, chat)
  local commands, opening = { 'normal! zE' }, {}
  local open = seen[chat.bufnr] or {}
  for _, fold in ipairs(chat.folds) do
    if fold.first < fold.last then
      commands[#commands + 1] = ('%d,%dfold'):format(fold.first + 1, fold.last + 1)
      opening[#opening + 1] = open[fold.id] and fold.first + 1 .. 'foldopen!' or nil
    end
  end
  run(win, vim.list_extend(commands, opening))
end

--- Blocks are foldable from now on; lines that come inside extend a fold by themselves.
---@param chat acp.Chat
---@param folds any[] id, first row, last row and open of one after the other
function M.add(chat, folds)
  local commands, opened = {}, {}
  for i = 1, #folds, 4 do
    local id, first, last = folds[i], folds[i + 1], folds[i + 2]
    insert(chat, { id = id, first = first, last = last })
    commands[#commands + 1] = ('%d,%dfold'):format(first + 1, last + 1)
    opened[#opened + 1] = folds[i + 3] and id or nil
  end
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    run(win, commands)
  end
  for _, id in ipairs(opened) do
    M.open(chat, id, true)
  end
  M.fill(chat)
end

--- Gather rows, with the folds in them, in a closed fold.
---@param chat acp.Chat
---@param title string
function M.gather(chat, id, first, last, title)
  insert(chat, { id = id, first = first, last = last, title = title })
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    run(win, { ('%d,%dfold'):format(first + 1, last + 1) })
  end
  M.fill(chat)
end

--- Take a fold away; what is folded within it stays so.
---@param chat acp.Chat
function M.remove(chat, id)
  local fold = find(chat, id)
  if not fold then return end
  table.remove(
    chat.folds,
    vim.iter(ipairs(chat.folds)):find(function(_, one) return one == fold end)
  )
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      vim.cmd(fold.first + 1 .. 'foldclose!')
      vim.fn.cursor(fold.first + 1, 1)
      vim.cmd('normal! zd') -- the outermost of those that are closed
      vim.fn.winrestview(view)
    end)
  end
end

--- What a closed fold says that gathers others, nil for another one.
---@param chat acp.Chat
---@return string? title
function M.title(chat, first, last)
  local low, high = 1, #chat.folds -- the first that ends at `last` lies there
  while low < high do
    local middle = math.floor((low + high) / 2)
    if chat.folds[middle].last < last then
      low = middle + 1
    else
      high = middle
    end
  end
  for i = low, #chat.folds do
    local fold = chat.folds[i]
    if fold.last ~= last then return end
    if fold.first == first and fold.title then return fold.title end
  end
end

--- Open or close the fold of a block in every window.
---@param chat acp.Chat
---@param id string
---@param open boolean
function M.open(chat, id, open)
  seen[chat.bufnr] = seen[chat.bufnr] or {}
  seen[chat.bufnr][id] = open or nil
  local fold = find(chat, id)
  if not fold or fold.first == fold.last then return end
  local command = fold.first + 1 .. (open and 'foldopen!' or 'foldclose')
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    api.nvim_win_call(win, function() pcall(vim.cmd, command) end)
  end
  if not open then M.fill(chat) end
end

return M
