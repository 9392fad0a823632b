--- Text of the overview: sessions by directory, each with its oldest question.
local M = {}

local emit = require('acp.base.signals').emit
local notify = require('acp.base.notify')
local checkouts = require('acp.features.overview.checkouts')
local columns = require('acp.features.overview.columns')

local INDENT = 4 -- cells before the rows of a question
local MIN_CARD, MAX_CARD = 6, 10 -- rows

---@class acp.OverviewBlock
---@field key string
---@field first integer row, 0-based
---@field last integer inclusive
---@field session acp.OverviewSession

---@class acp.OverviewPage
---@field lines string[]
---@field spans { [1]: integer, [2]: integer, [3]: string }[][] of each line
---@field blocks acp.OverviewBlock[] in order
---@field cards table<integer|string, { [1]: integer, [2]: integer }> rows of each question, 0-based
---@field options table<integer, integer> number of the option in a row

---@param page acp.OverviewPage
---@param spans? { [1]: integer, [2]: integer, [3]: string }[]
local function add(page, text, spans)
  page.lines[#page.lines + 1] = text
  page.spans[#page.lines] = spans or {}
end

--- Add the heading of a directory: its path and branch, and the repository of a worktree. If there
--- is too little room for all three, leave out the path of the worktree.
---@param page acp.OverviewPage
---@param width integer cells
local function add_heading(page, directory, width)
  local checkout = checkouts.of(directory)
  local path = notify.one_line(vim.fn.fnamemodify(directory, ':~'))
  local rest = checkout.branch and '  ' .. notify.one_line(checkout.branch) or ''
  if checkout.main then
    local main = notify.one_line(vim.fn.fnamemodify(checkout.main, ':~'))
    rest = ('%s  worktree of %s'):format(rest, main)
  end
  if checkout.main and require('acp.base.text.width')(path .. rest) > width then
    path, rest = vim.trim(rest), ''
  end
  local text = notify.cut(path .. rest, width)
  local last = math.min(#path, #text)
  add(page, text, { { 0, last, 'AcpPath' }, { last, #text, 'AcpMuted' } })
end

--- Add the card of a question.
---@param page acp.OverviewPage
---@param id integer|string
---@param rows integer maximum height of the card
local function add_question(page, id, width, rows)
  local room = math.max(width - INDENT - 1, 10)
  local card = emit('question_fitted', id, room, rows)
  if not card then return end
  local indent, first = (' '):rep(INDENT), #page.lines
  for _, text in ipairs(card.lines) do
    add(page, indent .. text)
  end
  for _, span in ipairs(card.spans or {}) do
    local spans = page.spans[first + span[1] + 1]
    if spans then spans[#spans + 1] = { span[2] + INDENT, span[3] + INDENT, span[4] } end
  end
  page.cards[id] = { first, #page.lines - 1 }
  for i = 1, card.head and #(emit('question_card', id).options or {}) or 0 do
    page.options[first + card.head + i - 1] = i
  end
end

--- Return the key by which directories are sorted: worktrees come after their repository.
---@param directory string
---@return string
local function sort_key(directory)
  local main = checkouts.of(directory).main
  return main and (main .. '\1' .. directory) or directory
end

--- Return the sessions by directory. Sessions of the global current directory come first: the
--- directory of a window would move the groups whenever the user goes to another window.
---@param sessions acp.OverviewSession[]
---@return { directory: string, sessions: acp.OverviewSession[] }[]
local function group_by_directory(sessions)
  local groups, order = {}, {}
  for _, session in ipairs(sessions) do
    if not groups[session.cwd] then
      groups[session.cwd] = {}
      order[#order + 1] = session.cwd
    end
    table.insert(groups[session.cwd], session)
  end
  local cwd = vim.fn.getcwd(-1, -1)
  local here = checkouts.of(cwd)
  local function rank(directory)
    local is_same = checkouts.of(directory).repository == here.repository
    return directory == cwd and 0 or is_same and 1 or 2
  end
  table.sort(order, function(a, b)
    if rank(a) ~= rank(b) then return rank(a) < rank(b) end
    return sort_key(a) < sort_key(b)
  end)
  local function group(directory) return { directory = directory, sessions = groups[directory] } end
  return vim.tbl_map(group, order)
end

---@class acp.OverviewLayout
---@field width integer cells
---@field rows integer height of the lowest window
---@field folded table<string, true> sessions whose question is hidden
---@field now integer seconds since 1970

---@param page acp.OverviewPage
---@param session acp.OverviewSession
---@param line acp.OverviewLine
---@param layout acp.OverviewLayout
local function add_session(page, session, line, layout)
  local first = #page.lines
  add(page, line.text, line.spans)
  if session.question and not layout.folded[session.key] then
    local rows = math.min(math.max(layout.rows - 3, MIN_CARD), MAX_CARD)
    add_question(page, session.question, layout.width, rows)
  end
  local last = #page.lines - 1
  page.blocks[#page.blocks + 1] =
    { key = session.key, first = first, last = last, session = session }
end

--- Return the text for these sessions.
---@param sessions acp.OverviewSession[]
---@param layout acp.OverviewLayout
---@return acp.OverviewPage
function M.build(sessions, layout)
  local page = { lines = {}, spans = {}, blocks = {}, cards = {}, options = {} }
  local lines, by_session = columns.lines(sessions, layout.width, layout.now), {}
  for i, session in ipairs(sessions) do
    by_session[session] = lines[i]
  end
  for i, group in ipairs(group_by_directory(sessions)) do
    if i > 1 then add(page, '') end
    add_heading(page, group.directory, layout.width)
    local pid ---@type integer|nil
    for _, session in ipairs(group.sessions) do
      if session.pid ~= pid then
        pid = session.pid
        local text = (' in another Neovim, process %d'):format(pid)
        add(page, text, { { 0, #text, 'AcpMuted' } })
      end
      add_session(page, session, by_session[session], layout)
    end
  end
  if #sessions == 0 then
    local text = require('acp.base.messages').no_session
    add(page, text, { { 0, #text, 'AcpMuted' } })
  end
  return page
end

return M
