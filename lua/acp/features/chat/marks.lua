--- Highlights of the rows of a chat, and their targets, which define the action of <CR>.
--- Both are stored here by row. Extmarks for all of them would take more time than the rest of a
--- frame. So highlights are drawn with the row, and rows out of view take no time.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.chat')

---@alias acp.RowHighlights any[] column, end column (bytes) and group of each span of a row

local concealment, margin = require('acp.ui.conceal'), require('acp.features.chat.margin')

local chats = {} ---@type table<integer, acp.Chat> by buffer
local drawn ---@type acp.Chat chat of the window that is being drawn
local window, columns = 0, nil ---@type integer, integer? window being drawn, cells of its text
local others ---@type integer? namespace of another plugin that draws its Markdown
local cursor, conceallevel = -1, 0 -- row whose marks are shown, and 'conceallevel' of the window

--- Cached ids of highlight groups by name.
local groups = setmetatable({}, {
  __index = function(self, name)
    local id = api.nvim_get_hl_id_by_name(name)
    self[name] = id
    return id
  end,
})

--- Groups whose rows are highlighted up to the end of the window, and the group used.
local WHOLE = {
  AcpCodeBlock = 'AcpCodeBlock',
  AcpFence = 'AcpCodeBlock',
  AcpDiffAdd = 'AcpDiffAdd',
  AcpDiffRemove = 'AcpDiffRemove',
}

--- Groups without a highlight: marks of tables, and code, which gets the colours of its language.
local BARE = { AcpTable = true, AcpToolCode = true }

local function mark_whole_line(bufnr, row, group)
  api.nvim_buf_set_extmark(bufnr, ns, row, 0, {
    end_row = row + 1,
    end_col = 0,
    hl_group = groups[group],
    hl_eol = true,
    ephemeral = true,
    strict = false,
  })
end

--- Show the time at which the user sent the prompt below this heading.
local function time(bufnr, row)
  local target = drawn.targets[row + 1]
  local text = type(target) == 'table' and target.time
  if text then
    api.nvim_buf_set_extmark(bufnr, ns, row, 0, {
      virt_text = { { text, 'AcpMuted' } },
      virt_text_pos = 'right_align',
      ephemeral = true,
    })
  end
end

--- Return the cursor's row if 'concealcursor' does not conceal it in the current mode.
---@return integer?
local function unconcealed_row(win)
  local mode = api.nvim_get_mode().mode:sub(1, 1):lower()
  if not vim.wo[win].concealcursor:find(mode, 1, true) then
    return api.nvim_win_get_cursor(win)[1] - 1
  end
end

--- Return the 'conceallevel' of a row, 0 for the cursor's row.
---@return integer
local function conceallevel_of(row) return row == cursor and 0 or conceallevel end

--- Return the width of the text area of a window. While the window is drawn, it is computed once,
--- since Neovim needs longer for it than for a row.
---@return integer cells
function M.text_columns(win)
  local text_columns = require('acp.ui.win').text_columns
  if win ~= window then return text_columns(win) end
  columns = columns or text_columns(win)
  return columns
end

--- Draw a rule over the whole width of the window, unless the row shows its marks.
local function rule(bufnr, row)
  if conceallevel_of(row) == 0 then return end
  api.nvim_buf_set_extmark(bufnr, ns, row, 0, {
    virt_text = { { ('─'):rep(M.text_columns(window)), 'AcpRule' } },
    virt_text_pos = 'overlay',
    ephemeral = true,
  })
end

--- Show the keys that answer a question on the row below its card.
---@param id integer|string
local function legend(bufnr, row, id)
  local keys = require('acp.base.signals').emit('question_keys', id, M.text_columns(window) - 3)
  api.nvim_buf_set_extmark(bufnr, ns, row, 0, {
    virt_text = { { '  ' .. (keys or ''), 'AcpMuted' } },
    virt_text_pos = 'overlay',
    ephemeral = true,
  })
end

--- Draw one row of a chat: its colours and concealed Markdown. Neovim calls this for each visible
--- row in each redraw, so it has to be fast, and its extmarks last until the next one.
---@param _ 'line'
---@param _ integer window
local function draw_row(_, _, bufnr, row)
  local highlights, target = drawn.highlights[row + 1], drawn.targets[row + 1]
  if type(target) == 'table' and target.legend then legend(bufnr, row, target.decision) end
  if type(target) == 'table' and target.picture then
    require('acp.base.signals').emit('picture_seen', drawn, row, target.where)
  end
  if not highlights then return end
  local set_extmark, options = api.nvim_buf_set_extmark, { ephemeral = true, strict = false }
  local drawn_by_other = others and concealment.has_drawn(bufnr, others, row)
  for i = 1, #highlights, 3 do
    local first, last, group = highlights[i], highlights[i + 1], highlights[i + 2]
    options.end_col, options.hl_group = last, groups[group]
    if (WHOLE[group] or BARE[group]) and not drawn.blocks then
      drawn.blocks = true
      require('acp.features.chat.blocks').on_drawn(drawn, row, row + vim.o.lines)
    end
    if WHOLE[group] then mark_whole_line(bufnr, row, WHOLE[group]) end
    if last > first and WHOLE[group] ~= group and not BARE[group] then
      set_extmark(bufnr, ns, row, first, options)
    end
    if last > first and concealment.has(group) then
      -- Another plugin conceals blocks and tables itself. A table begins with its own group.
      local is_in_table = highlights[3] == 'AcpTable'
      local wanted = not drawn_by_other or concealment.is_inline(group) and not is_in_table
      if wanted then concealment.draw(bufnr, ns, row, group, first, last, conceallevel_of(row)) end
    end
    if group == 'AcpUser' then time(bufnr, row) end
    if group == 'AcpRule' and not drawn_by_other then rule(bufnr, row) end
  end
  local colours = drawn.colours[row + 1]
  for i = 1, colours and #colours or 0, 3 do
    options.end_col, options.hl_group = colours[i + 1], colours[i + 2]
    set_extmark(bufnr, ns, row, colours[i], options)
  end
end

api.nvim_set_decoration_provider(ns, {
  on_win = function(_, win, bufnr, first, last)
    local chat = chats[bufnr]
    if chat then
      drawn, others = chat, concealment.others(bufnr)
      window, columns = win, nil
      cursor = win == api.nvim_get_current_win() and unconcealed_row(win) or -1
      conceallevel = api.nvim_get_option_value('conceallevel', { win = win }) -- faster than vim.wo
      if others and not chat.others then
        chat.others = true
        vim.schedule(function() require('acp.features.chat.tables').clear(chat) end)
      end
      if chat.blocks then require('acp.features.chat.blocks').on_drawn(chat, first, last) end
      margin.on_drawn(chat, win, first, last)
    end
    return chat ~= nil
  end,
  on_end = function() window = 0 end,
  on_line = draw_row,
})

--- Draw the highlights of a chat from now on.
---@param chat acp.Chat
function M.watch(chat) chats[chat.bufnr] = chat end

--- Stop drawing a chat whose buffer is wiped out.
---@param chat acp.Chat
function M.forget(chat) chats[chat.bufnr] = nil end

---@param rows table<integer, any> by row, from 1
local function splice(rows, first, last, shift, total)
  if shift ~= 0 and last < total then table.move(rows, last + 1, total, last + 1 + shift) end
  for row = first + 1, math.min(last + shift, total) do -- a nil beyond them would use memory
    rows[row] = nil
  end
  for row = total + shift + 1, total do
    rows[row] = nil
  end
end

--- Replace rows [first, last) of a chat with `count` rows without highlights and targets.
---@param chat acp.Chat
---@param total integer number of rows before
function M.splice(chat, first, last, count, total)
  local shift = count - (last - first)
  splice(chat.highlights, first, last, shift, total)
  splice(chat.targets, first, last, shift, total)
  splice(chat.colours, first, last, shift, total)
end

--- Set the highlights and targets of rows.
---@param chat acp.Chat
---@param first integer row, from 0, that the rows in `decor` are relative to
---@param decor {[1]: acp.RowHighlights[], [2]: integer[], [3]: any[]} list of highlights; pairs of
--- row and index in that list; pairs of row and target
function M.set(chat, first, decor)
  local highlights, indices, targets = decor[1], decor[2], decor[3]
  for i = 1, #indices, 2 do
    chat.highlights[first + indices[i] + 1] = highlights[indices[i + 1]]
  end
  for i = 1, #targets, 2 do
    chat.targets[first + targets[i] + 1] = targets[i + 1]
  end
  margin.show_rule_for(chat, highlights)
end

--- Return the highlights of a row.
---@return acp.RowHighlights
function M.highlights(bufnr, row) return chats[bufnr] and chats[bufnr].highlights[row + 1] or {} end

--- Return a target as a table. A number is the index of a tool call, from 0.
local function as_table(target)
  return type(target) == 'number' and { kind = 'tool', call = target } or target --[[@as table]]
end

--- Redraw the windows of this tab page that show a chat, since the keys that answer have changed.
function M.redraw()
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if chats[api.nvim_win_get_buf(win)] then api.nvim__redraw({ win = win, valid = false }) end
  end
end

--- Return the target of a row.
---@param chat acp.Chat
---@return table?
function M.at(chat, row)
  local target = chat.targets[row + 1]
  return target and as_table(target)
end

--- Return the question whose card contains a row.
---@param chat acp.Chat
---@return string?
function M.question(chat, row) return (M.at(chat, row) or {}).decision end

--- Return the questions whose whole cards are in rows `first` to `last`.
---@param chat acp.Chat
---@return table<string, { [1]: integer, [2]: integer }> by id: first and last line, 1-based
local function cards(chat, first, last)
  local has_start, whole = {}, {}
  for row = first + 1, last + 1 do
    local target = chat.targets[row]
    local id = type(target) == 'table' and vim.fn.foldclosed(row) < 0 and target.decision
    if id then
      has_start[id] = has_start[id] or target.first and row
      if has_start[id] and target.last then whole[id] = { has_start[id], row } end
    end
  end
  return whole
end

--- Return the questions whose whole cards are in these rows of a buffer, nil if it is not a chat.
---@return table<string, { [1]: integer, [2]: integer }>|nil by id: first and last line, 1-based
function M.cards_in(bufnr, first, last)
  local chat = chats[bufnr]
  return chat and cards(chat, first, last)
end

--- Return the rows whose target is of a kind, in order.
---@param chat acp.Chat
---@return integer[]
function M.rows(chat, kind)
  local rows = {}
  for row = 1, api.nvim_buf_line_count(chat.bufnr) do
    local target = chat.targets[row]
    if target and as_table(target).kind == kind then rows[#rows + 1] = row - 1 end
  end
  return rows
end

return M
