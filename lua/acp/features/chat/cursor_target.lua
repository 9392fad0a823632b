--- Actions on the chat row under the cursor, and jumps between turns.
local M = {}

local api = vim.api

--- Return the target of the cursor's row.
---@return table?
---@return acp.Chat? chat
local function target()
  local chat = require('acp.ui.chats').of(api.nvim_get_current_buf())
  if not chat then return end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  return require('acp.features.chat.marks').at(chat, row), chat
end

--- Return the id of the question whose card is under the cursor.
---@return string?
function M.decision()
  local at_cursor = target()
  return at_cursor and at_cursor.decision
end

--- Kinds of targets without an action: <CR> toggles their fold.
local FOLDS = { fold = true, turn = true, none = true }

--- Kinds of targets on which a double click selects a word.
local PLAIN = { turn = true, none = true }

local function toggle_fold()
  local line = vim.fn.line('.')
  if vim.fn.foldlevel(line) > 0 then
    vim.cmd(vim.fn.foldclosed(line) > 0 and 'foldopen' or 'foldclose')
  end
end

--- <CR>: act on the row under the cursor. A closed fold opens. If the cursor is on a line inside
--- the fold, act on that line too.
function M.act()
  local folded, last = vim.fn.foldclosed('.'), vim.fn.foldclosedend('.')
  if folded > 0 then
    vim.cmd('foldopen')
    require('acp.ui.win').reveal(folded, last)
  end
  local at_cursor, chat = target()
  if folded == vim.fn.line('.') then
    return
  elseif not at_cursor or FOLDS[at_cursor.kind] then
    if folded < 0 then toggle_fold() end
  elseif at_cursor.kind == 'file' then
    require('acp.ui.jump').to(at_cursor.path, at_cursor.line, chat.n)
  elseif at_cursor.kind == 'url' then
    vim.ui.open(at_cursor.url)
  else
    require('acp.ui.report').allow_focus()
    require('acp.base.host').notify('open', { session = chat.n, target = at_cursor })
  end
end

--- A double click: choose the option of a question, or do as <CR>. In text it selects a word.
function M.click()
  require('acp.ui.actions').click(function()
    local at_cursor = target()
    if at_cursor and at_cursor.option then
      require('acp.base.signals').emit('question_option_clicked', at_cursor.option)
    elseif vim.fn.foldclosed('.') > 0 or at_cursor and not PLAIN[at_cursor.kind or 'none'] then
      M.act()
    else
      return false
    end
  end)
end

--- gf, gF: open the file of the row, or the file named under the cursor, in an editing window.
---@param at_line boolean whether to go to the line number after the name
---@param n integer? session of the window
function M.open_file(at_line, n)
  local at_cursor = target()
  if at_cursor and at_cursor.kind == 'file' then
    require('acp.ui.jump').to(at_cursor.path, at_line and at_cursor.line or nil, n)
  else
    require('acp.ui.file_at_cursor').open(at_line, n)
  end
end

--- Stop the tool call or the terminal under the cursor.
function M.stop()
  local at_cursor, chat = target()
  if not chat then return end
  require('acp.base.host').notify('stop_target', { session = chat.n, target = at_cursor })
end

--- Jump to the next (1) or previous (-1) turn of the chat in the current window.
---@param direction 1|-1
function M.go(direction)
  local _, chat = target()
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local rows = vim.iter(chat and require('acp.features.chat.marks').rows(chat, 'turn') or {})
  local further = rows:filter(function(at) return (at - row) * direction > 0 end)
  local best = direction > 0 and further:next() or direction < 0 and further:last()
  if best then
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(0, { best + 1, 0 })
  end
end

--- Number of attempts to find a turn that is not drawn yet, and the time between them. A long chat
--- arrives in several frames.
local TRIES, WAIT_MS = 100, 20

--- Frame operation: put the cursor of the chat's windows on a turn. Focus the chat if the user is
--- still waiting for it.
---@param turn integer 1 for the first
---@param tries? integer
function M.to_turn(n, turn, tries)
  local chat = require('acp.ui.chats').chats[n]
  if not chat or not api.nvim_buf_is_loaded(chat.bufnr) then return end
  local row = require('acp.features.chat.marks').rows(chat, 'turn')[turn]
  if not row then
    tries = (tries or 0) + 1
    if tries < TRIES then vim.defer_fn(function() M.to_turn(n, turn, tries) end, WAIT_MS) end
    return
  end
  local windows = vim.fn.win_findbuf(chat.bufnr)
  if windows[1] and require('acp.ui.report').may_take_focus() then
    api.nvim_set_current_win(windows[1])
  end
  for _, win in ipairs(windows) do
    api.nvim_win_call(win, function()
      api.nvim_win_set_cursor(win, { row + 1, 0 })
      vim.cmd('normal! zt')
    end)
  end
end

return M
