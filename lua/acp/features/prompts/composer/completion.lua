--- 'omnifunc' of the composer. It uses tables and caches only and never blocks.
local M = {}

local candidates = require('acp.features.prompts.composer.candidates')
local ns = vim.api.nvim_create_namespace('acp.prompt_names')

local MIN_ABOUT = 12 -- cells of a description in the menu; shorter ones would say nothing

--- Return the word at the cursor that can be completed.
---@return 'command'|'mention'|'prompt'|nil kind
---@return string base
local function word()
  local at = vim.api.nvim_win_get_cursor(0)
  local line = vim.api.nvim_get_current_line():sub(1, at[2])
  local kind, col = candidates.word(line, at[1])
  return kind, kind and line:sub(col + 1) or ''
end

--- Replace a word with a text. Move the cursor from the end of the word to the end of the text.
---@param row integer 0-based
---@param col integer start of the word
---@param typed string
---@param text string
local function replace(bufnr, row, col, typed, text)
  local lines, stop = vim.split(text, '\n', { plain = true }), col + #typed
  local is_here = vim.api.nvim_get_current_buf() == bufnr
  local at = vim.api.nvim_win_get_cursor(0)
  vim.api.nvim_buf_set_text(bufnr, row, col, row, stop, lines)
  if is_here and at[1] == row + 1 and at[2] == stop then
    local last = #lines[#lines] + (#lines == 1 and col or 0)
    vim.api.nvim_win_set_cursor(0, { row + #lines, last })
  end
end

--- Return the 0-based position of a mark if the word is still there.
---@param typed string
---@return integer|nil row
---@return integer col
local function position_of(bufnr, mark, typed)
  local at = vim.api.nvim_buf_get_extmark_by_id(bufnr, ns, mark, { details = true })
  if not at[1] then return nil, -1 end
  local row, col, to = at[1], at[2], at[3]
  local text = vim.api.nvim_buf_get_text(bufnr, row, col, to.end_row, to.end_col, {})
  return table.concat(text, '\n') == typed and row or nil, col
end

--- Replace the name of a prompt before the cursor with its text as soon as that is available. If
--- the user has changed the name by then, do nothing.
---@param typed string|nil name with its `#`
---@param done fun(text: string) called after the replacement
function M.replace_name(typed, done)
  local name = typed and typed:match('^#(.+)$')
  local bufnr, at = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)
  local before = vim.api.nvim_get_current_line():sub(1, at[2])
  if not name or not vim.endswith(before, typed) or not candidates.prompt_texts()[name] then
    return
  end
  local opts = { end_col = at[2], right_gravity = true, end_right_gravity = false }
  local mark = vim.api.nvim_buf_set_extmark(bufnr, ns, at[1] - 1, at[2] - #typed, opts)
  require('acp.base.signals').emit('prompt_text_wanted', name, function(text)
    if not vim.api.nvim_buf_is_loaded(bufnr) then return end
    local row, col = position_of(bufnr, mark, typed)
    vim.api.nvim_buf_del_extmark(bufnr, ns, mark)
    if not row then return end
    replace(bufnr, row, col, typed, text)
    done(text)
  end)
end

--- Insert the rest of an accepted item of the language server. Neovim 0.11 inserts only the text up
--- to the first blank.
---@param completed table complete-item
function M.add_rest(completed)
  local item = vim.tbl_get(completed, 'user_data', 'nvim', 'lsp', 'completion_item')
  local text = vim.tbl_get(item or {}, 'textEdit', 'newText') or ''
  local is_part = #text > #completed.word and vim.startswith(text, completed.word)
  if not is_part or vim.v.event.reason ~= 'accept' then return end
  local at = vim.api.nvim_win_get_cursor(0)
  local before = vim.api.nvim_get_current_line():sub(1, at[2])
  if vim.endswith(before, completed.word) then
    vim.api.nvim_put({ text:sub(#completed.word + 1) }, 'c', false, true)
  end
end

--- Remove the `}` after a variable just completed, which an auto-pairs plugin put after its `{`.
---@param inserted string|nil
function M.remove_pair(inserted)
  if not inserted or not inserted:match('^@?{.*}$') then return end
  local at, line = vim.api.nvim_win_get_cursor(0), vim.api.nvim_get_current_line()
  local row, col = at[1] - 1, at[2]
  if vim.endswith(line:sub(1, col), inserted) and line:sub(col + 1, col + 1) == '}' then
    vim.api.nvim_buf_set_text(0, row, col, row, col + 1, {})
  end
end

--- Call `fn` when `wait` calls back, if the buffer is the same and unchanged and no menu is open.
---@param wait fun(fn: fun())
---@param fn fun()
local function if_still_here(wait, fn)
  local bufnr, tick = vim.api.nvim_get_current_buf(), vim.b.changedtick
  wait(function()
    local is_here = vim.api.nvim_get_current_buf() == bufnr and vim.b.changedtick == tick
    if is_here and vim.api.nvim_get_mode().mode:match('^i') and vim.fn.pumvisible() == 0 then
      fn()
    end
  end)
end

--- Return whether the cursor is behind a word that starts with `/`, `@`, `{` or `#` and has just
--- been begun. Neovim fires |TextChangedI| once for several keys that come together.
---@param before string|nil the line at the last event; nil: only a single sign counts
---@return boolean
function M.is_new(before)
  local kind, base = word()
  local line, col = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2] - #base
  if not kind or col > 0 and not line:sub(col, col):match('%s') then return false end
  return #base == 1 or before ~= nil and before:sub(col + 1, col + 1) ~= base:sub(1, 1)
end

--- Return whether there is a completion at the cursor.
---@return boolean
function M.has_completion()
  local _, base = word()
  return #M.omni(0, base).words > 0
end

local stop_waiting = function() end

--- Call `fn` when the list for the word at the cursor is known: now, or later if the user has
--- typed nothing else.
---@param n integer
---@param base string
---@param fn fun()
local function when_known(n, base, fn)
  stop_waiting()
  if candidates.is_known(base, n) then return fn() end
  if_still_here(function(later) stop_waiting = candidates.when_known(base, n, later) end, fn)
end

--- Call `fn` when the list for the word at the cursor is known.
---@param n integer
---@param fn fun()
function M.when_known(n, fn)
  local _, base = word()
  when_known(n, base, fn)
end

--- Return the width that Neovim's menu has for names, in cells, from the beginning of the word at
--- the cursor to the edge of the screen.
---@param base string
local function room_for_names(base)
  local at = vim.api.nvim_win_get_cursor(0)
  local typed = vim.api.nvim_get_current_line():sub(1, at[2])
  local start = vim.endswith(typed, base) and at[2] - #base or at[2] -- Neovim has removed it
  local col = vim.fn.screenpos(0, at[1], start + 1).col
  return math.max(vim.o.columns - col, 15) -- with a column for the scrollbar
end

---@param candidate acp.Candidate
---@param n integer|nil composer
---@param room integer cells
---@return table complete-item
local function complete_item(candidate, n, room)
  local cwd = require('acp.base.places').cwd()
  return {
    word = candidate.word,
    abbr = require('acp.base.notify').cut_middle(candidate.label, room),
    menu = candidate.about,
    info = candidate.text and candidates.legible(candidate.text),
    user_data = {
      acp = require('acp.features.prompts.composer.previews').data(candidate, n, cwd),
    },
    dup = 1,
    equal = 1, -- the list is filtered already
  }
end

--- Shorten the descriptions to the cells that the names leave, since Neovim cuts them at the edge
--- of the screen.
---@param items table[] complete-items, changed in place
---@param room integer cells
local function fit_descriptions(items, room)
  local text_width = require('acp.base.text.width')
  local widest = 0
  for _, item in ipairs(items) do
    widest = math.max(widest, text_width(item.abbr))
  end
  local left = room - widest - 1
  for _, item in ipairs(items) do
    item.menu = item.menu and left >= MIN_ABOUT and require('acp.base.notify').cut(item.menu, left)
      or nil
  end
end

--- 'omnifunc' of the composer.
---@param findstart integer
---@param base string
---@return integer|table
function M.omni(findstart, base)
  if findstart == 1 then
    local at = vim.api.nvim_win_get_cursor(0)
    local _, col = candidates.word(vim.api.nvim_get_current_line():sub(1, at[2]), at[1])
    return col
  end
  local n = candidates.composer(0)
  if base:sub(1, 1) == '@' then
    candidates.look_for_symbols(base, function() end) -- for the next character
  end
  local listed = candidates.list(base, n, function() end)
  if not candidates.is_known(base, n) then
    when_known(n, base, function() vim.api.nvim_feedkeys(vim.keycode('<C-x><C-o>'), 'n', false) end)
  end
  local room = room_for_names(base)
  local function item(candidate) return complete_item(candidate, n, room) end
  local words = vim.tbl_map(item, listed)
  fit_descriptions(words, room)
  return { words = words, refresh = 'always' }
end

---@param win integer
---@param bufnr integer
local function highlight(win, bufnr)
  vim.wo[win].conceallevel = 2
  pcall(vim.treesitter.start, bufnr, 'markdown') -- there may be no parser
end

--- Show the preview of the selected item beside the menu, if 'completeopt' contains "popup". This
--- is for |CompleteChanged|.
---@param selected table complete-item
function M.preview(selected)
  local data = type(selected.user_data) == 'table' and selected.user_data.acp
  if not data or selected.info ~= '' or not vim.api.nvim__complete_set then return end
  local function show(preview)
    local now = vim.fn.complete_info({ 'selected', 'items' })
    local item_now = now.items[now.selected + 1]
    if not preview or not item_now or item_now.word ~= selected.word then return end
    local shown = vim.api.nvim__complete_set(now.selected, { info = preview.value })
    if not shown.winid then return end
    vim.wo[shown.winid].linebreak = true
    if preview.kind == 'markdown' then highlight(shown.winid, shown.bufnr) end
  end
  require('acp.features.prompts.composer.previews').show(data, vim.schedule_wrap(show))
end

return M
