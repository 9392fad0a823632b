--- Decoration of complete blocks in a chat. Code and diffs get the colours of their language, and
--- the columns of tables are aligned. A block is decorated when it first comes into view.
local M = {}

local api = vim.api
local slices = require('acp.base.slices')

local ns = api.nvim_create_namespace('acp.chat.blocks')

--- Delay before new rows in view are decorated, so that a burst of frames passes first.
local DELAY_MS = 100

--- Pause after a slice. Decoration can wait.
local PAUSE_MS = 4

local add_job = slices.queue(PAUSE_MS)

--- Maximum number of rows in a block that is decorated.
local MAX_ROWS = 3000

--- Bytes of the sign at the beginning of a diff row.
local SIGN = 2

local NONE = {} ---@type integer[] colours of a row without colours, or of a decorated row

---@class acp.Block
---@field first integer row
---@field last integer row
---@field decorate fun(chat: acp.Chat, block: acp.Block, lines: string[]): acp.Colours?

local CODE, FENCE, TABLE = 'AcpCodeBlock', 'AcpFence', 'AcpTable'
local TOOL_CODE = 'AcpToolCode'
local DIFF = { AcpDiffAdd = '+', AcpDiffRemove = '-', AcpDiffContext = ' ' }

--- Return the group of the block that a row belongs to, and the column at which its text begins.
---@param chat acp.Chat
---@return string? group
---@return integer? column
local function group_of(chat, row)
  local highlights = chat.highlights[row + 1]
  if not highlights then return end
  local before = highlights[3] == 'AcpUserRule' or highlights[3] == 'AcpMuted'
  if before and highlights[6] then return highlights[6], highlights[4] end
  return highlights[3], highlights[1]
end

--- Return the rows of the block around a row; the first is nil if the block is too long.
---@param chat acp.Chat
---@param belongs fun(row: integer): boolean
---@return integer? first
---@return integer last
local function block_around(chat, row, belongs)
  local first, last, total = row, row, api.nvim_buf_line_count(chat.bufnr)
  while first > 0 and row - first < MAX_ROWS and belongs(first - 1) do
    first = first - 1
  end
  while last < total - 1 and last - row < MAX_ROWS and belongs(last + 1) do
    last = last + 1
  end
  return last - first < MAX_ROWS and first or nil, last
end

--- Return the path or the language of the code that a row of a tool call shows.
---@param chat acp.Chat
---@return string?
local function source_of(chat, row)
  local target = chat.targets[row + 1]
  if type(target) ~= 'table' then return end
  return target.kind == 'file' and target.path or target.language
end

--- Return the block of code of a tool call: a file that was read or a fence in its content, perhaps
--- in part.
---@param chat acp.Chat
---@param source string
---@return acp.Block?
local function tool_code(chat, row, source)
  local group = group_of(chat, row)
  local first, last = block_around(
    chat,
    row,
    function(other) return group_of(chat, other) == group and source_of(chat, other) == source end
  )
  if not first then return end
  local function colours(_, block, lines)
    local languages = require('acp.features.chat.languages')
    local target = chat.targets[block.first + 1]
    local is_path = type(target) == 'table' and target.path
    local filetype = is_path and languages.of_path(source) or languages.of_fence(source)
    if not filetype then return end
    local cols, texts = {}, {}
    for i, line in ipairs(lines) do
      local _, col = group_of(chat, block.first + i - 1)
      cols[i], texts[i] = col or 0, line:sub((col or 0) + 1)
    end
    local by_line = languages.colours(texts, filetype)
    for i, spans in pairs(by_line or {}) do
      for n = 1, #spans, 3 do
        spans[n], spans[n + 1] = spans[n] + cols[i], spans[n + 1] + cols[i]
      end
    end
    return by_line
  end
  return { first = first, last = last, decorate = colours }
end

---@param chat acp.Chat
---@return acp.Block?
local function fence_block(chat, row)
  local source = source_of(chat, row)
  if source then return tool_code(chat, row, source) end
  local first, last = block_around(
    chat,
    row,
    function(other) return group_of(chat, other) == CODE end
  )
  if not first or first == 0 then return end
  if group_of(chat, first - 1) ~= FENCE or group_of(chat, last + 1) ~= FENCE then return end
  local fence = api.nvim_buf_get_lines(chat.bufnr, first - 1, first, false)[1]
  local function colours(_, _, lines)
    local languages = require('acp.features.chat.languages')
    local filetype = languages.of_fence(fence:match('^%s*[`~]*(.*)'))
    return filetype and languages.colours(lines, filetype)
  end
  return { first = first, last = last, decorate = colours }
end

---@param chat acp.Chat
local function path_of(chat, row)
  local target = chat.targets[row + 1]
  return type(target) == 'table' and target.path or nil
end

--- Return the lines of one side of a diff, and the row of each in the block.
---@param signs string signs of its lines
local function lines_of_side(rows, signs)
  local lines, at = {}, {}
  for i, row in ipairs(rows) do
    if signs:find(row.sign, 1, true) then
      lines[#lines + 1], at[#at + 1] = row.text, i
    end
  end
  return lines, at
end

--- Add the colours of one side of a diff, except to rows with the sign `sign`. Without
--- 'termguicolors' the text of changed rows is red or green instead.
---@param coloured acp.Colours
local function add_side(coloured, rows, at, colours, sign)
  local add = require('acp.features.chat.languages').row
  for i, spans in pairs(colours or {}) do
    local row = rows[at[i]]
    local is_coloured = row.sign ~= sign and (vim.o.termguicolors or row.sign == ' ')
    for n = 1, is_coloured and #spans or 0, 3 do
      local own = add(coloured, at[i])
      vim.list_extend(own, { spans[n] + row.col, spans[n + 1] + row.col, spans[n + 2] })
    end
  end
end

--- Mark the words that differ between removed lines and the added lines below them. The marks are
--- above the syntax colours, which are hard to read on them.
---@param coloured acp.Colours
local function mark_words(coloured, rows)
  local groups = { 'AcpHunkRemoveWord', 'AcpHunkWord' }
  local at = 1
  while at <= #rows do
    local sides, places = { {}, {} }, { {}, {} }
    for which, sign in ipairs({ '-', '+' }) do
      while rows[at] and rows[at].sign == sign do
        table.insert(sides[which], rows[at].text)
        table.insert(places[which], at)
        at = at + 1
      end
    end
    local both = { require('acp.base.text.words').hunk(sides[1], sides[2]) }
    for which, words in ipairs(both) do
      local id = api.nvim_get_hl_id_by_name(groups[which])
      for i, spans in pairs(words) do
        local row = rows[places[which][i]]
        local marks = {}
        for _, span in ipairs(spans) do
          vim.list_extend(marks, { span[1] + row.col, span[2] + row.col, id })
        end
        local own = places[which][i]
        coloured[own] = vim.list_extend(coloured[own] or {}, marks)
      end
    end
    if #sides[1] + #sides[2] == 0 then at = at + 1 end
    slices.check()
  end
end

---@param chat acp.Chat
---@return acp.Block?
local function diff_block(chat, row)
  local path = path_of(chat, row)
  local first, last = block_around(
    chat,
    row,
    function(other) return DIFF[group_of(chat, other)] ~= nil and path_of(chat, other) == path end
  )
  if not first then return end
  local function colours(_, block, lines)
    local rows, coloured = {}, {}
    for i, line in ipairs(lines) do
      local group, col = group_of(chat, block.first + i - 1)
      if not DIFF[group] then return end
      rows[i] = { sign = DIFF[group], col = col + SIGN, text = line:sub(col + SIGN + 1) }
    end
    local languages = require('acp.features.chat.languages')
    local filetype = path and languages.of_path(path)
    if filetype then
      local old, old_at = lines_of_side(rows, ' -')
      local new, new_at = lines_of_side(rows, ' +')
      add_side(coloured, rows, old_at, languages.colours(old, filetype), ' ')
      add_side(coloured, rows, new_at, languages.colours(new, filetype))
    end
    mark_words(coloured, rows)
    return coloured
  end
  return { first = first, last = last, decorate = colours }
end

--- Return the table around a row. New rows of a growing table cause it to be measured again.
---@param chat acp.Chat
---@return acp.Block?
local function table_block(chat, row)
  local first, last = block_around(
    chat,
    row,
    function(other) return group_of(chat, other) == TABLE end
  )
  if not first then return end
  local tables = require('acp.features.chat.tables')
  local function pad(_, block, lines) tables.pad(chat, block.first, lines) end
  return { first = first, last = last, decorate = pad }
end

--- Return the block around a row, nil if it is not complete.
---@param chat acp.Chat
---@return acp.Block?
local function block_of(chat, row)
  local group = group_of(chat, row)
  if group == CODE or group == TOOL_CODE then return fence_block(chat, row) end
  if group == TABLE then return table_block(chat, row) end
  return DIFF[group] and diff_block(chat, row) or nil
end

local function redraw(bufnr, first, last)
  local id = api.nvim_buf_set_extmark(bufnr, ns, first, 0, {
    end_row = last + 1,
    hl_group = CODE,
    strict = false,
  })
  api.nvim_buf_del_extmark(bufnr, ns, id)
end

--- Decorate a block. Rows inserted above it in the meantime move it. A block that changed in the
--- meantime is left alone.
---@param chat acp.Chat
---@param block acp.Block
local function decorate_block(chat, block)
  local bufnr = chat.bufnr
  if not api.nvim_buf_is_loaded(bufnr) then return end
  local lines = api.nvim_buf_get_lines(bufnr, block.first, block.last + 1, false)
  local mark = api.nvim_buf_set_extmark(bufnr, ns, block.first, 0, {})
  local decorated = block.decorate(chat, block, lines)
  if not api.nvim_buf_is_loaded(bufnr) then return end
  local first = api.nvim_buf_get_extmark_by_id(bufnr, ns, mark, {})[1]
  if not first then return end
  api.nvim_buf_del_extmark(bufnr, ns, mark)
  local now = api.nvim_buf_get_lines(bufnr, first, first + #lines, false)
  if not vim.deep_equal(now, lines) then return end
  for line, spans in pairs(decorated or {}) do
    chat.colours[first + line] = spans
  end
  redraw(bufnr, first, first + #lines - 1)
end

---@param chat acp.Chat
local function decorate_rows(chat, first, last)
  for row = first, last do
    local block = not chat.colours[row + 1] and block_of(chat, row)
    if block then
      for other = block.first, block.last do
        chat.colours[other + 1] = NONE
      end
      add_job(function() decorate_block(chat, block) end)
    end
  end
end

--- Align tables again when windows are resized.
local watch = require('acp.base.once')(function()
  require('acp.base.autocmds').group('acp.blocks')('WinResized', function()
    for _, chat in pairs(require('acp.ui.chats').chats) do
      for line in pairs(chat.colours) do
        if group_of(chat, line - 1) == TABLE then chat.colours[line] = nil end
      end
    end
  end)
end)

local due = {} ---@type table<acp.Chat, true>

--- Schedule the decoration of blocks in these rows, which are being drawn.
---@param chat acp.Chat
---@param first integer row
---@param last integer row
function M.on_drawn(chat, first, last)
  if due[chat] then return end
  for row = first, last do
    local group = not chat.colours[row + 1] and group_of(chat, row)
    if group == CODE or group == TOOL_CODE or group == TABLE or DIFF[group] then
      watch()
      due[chat] = true
      vim.defer_fn(function()
        due[chat] = nil
        if not api.nvim_buf_is_loaded(chat.bufnr) then return end
        for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
          decorate_rows(chat, vim.fn.line('w0', win) - 1, vim.fn.line('w$', win) - 1)
        end
      end, DELAY_MS)
      return
    end
  end
end

return M
