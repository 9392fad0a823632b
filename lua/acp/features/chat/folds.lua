--- Manual folds of a chat, by the id of their block. Folds are window-local in Neovim, so a list
--- stores them and each window that shows the chat gets its own.
local M = {}

local api = vim.api

---@class acp.Fold
---@field id string of its block
---@field first integer row
---@field last integer row; the list is sorted by it, inner folds before outer ones
---@field title? string text while closed, of a fold that gathers others

--- Adjust the folds after rows [first, last) became `count` rows, as Neovim adjusts its own.
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

--- Run Ex commands in one go. Each `vim.cmd` call takes longer than the fold itself.
local function run(win, commands)
  if #commands > 0 then
    api.nvim_win_call(win, function() vim.cmd(table.concat(commands, '\n')) end)
  end
end

--- Scroll a window that follows the end until its last rows have text.
local function scroll_to_end(win)
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

--- Fill the windows that follow the end after lines were removed or folded.
---@param chat acp.Chat
function M.fill_windows(chat)
  for _, win in ipairs(chat.has_long_row and {} or vim.fn.win_findbuf(chat.bufnr)) do
    scroll_to_end(win)
  end
end

--- Ids of blocks that stay open, such as those with a question.
local kept_open = {} ---@type table<integer, table<string, true>> by buffer

--- Create the folds of a chat in a window that starts to show it.
---@param chat acp.Chat
function M.create_in_window(win, chat)
  local commands, opening = { 'normal! zE' }, {}
  local open = kept_open[chat.bufnr] or {}
  for _, fold in ipairs(chat.folds) do
    if fold.first < fold.last then
      commands[#commands + 1] = ('%d,%dfold'):format(fold.first + 1, fold.last + 1)
      opening[#opening + 1] = open[fold.id] and fold.first + 1 .. 'foldopen!' or nil
    end
  end
  run(win, vim.list_extend(commands, opening))
end

--- Add folds. Lines inserted later inside a fold extend it.
---@param chat acp.Chat
---@param folds any[] id, first row, last row and open of each fold, one after the other
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
  M.fill_windows(chat)
end

--- Gather rows, with the folds in them, in a closed fold.
---@param chat acp.Chat
---@param title string
function M.gather(chat, id, first, last, title)
  insert(chat, { id = id, first = first, last = last, title = title })
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    run(win, { ('%d,%dfold'):format(first + 1, last + 1) })
  end
  M.fill_windows(chat)
end

--- Remove a fold, but not the folds within it.
---@param chat acp.Chat
function M.remove(chat, id)
  local fold = find(chat, id)
  if not fold then return end
  table.remove(
    chat.folds,
    vim.iter(ipairs(chat.folds)):find(function(_, known) return known == fold end)
  )
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      vim.cmd(fold.first + 1 .. 'foldclose!')
      vim.fn.cursor(fold.first + 1, 1)
      vim.cmd('normal! zd') -- deletes the outermost closed fold
      vim.fn.winrestview(view)
    end)
  end
end

--- Return the title of a gathering fold, nil for other folds.
---@param chat acp.Chat
---@return string? title
function M.title(chat, first, last)
  local low, high = 1, #chat.folds -- range of the first fold that ends at `last`
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
  kept_open[chat.bufnr] = kept_open[chat.bufnr] or {}
  kept_open[chat.bufnr][id] = open or nil
  local fold = find(chat, id)
  if not fold or fold.first == fold.last then return end
  local command = fold.first + 1 .. (open and 'foldopen!' or 'foldclose')
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    api.nvim_win_call(win, function() pcall(vim.cmd, command) end)
  end
  if not open then M.fill_windows(chat) end
end

return M
