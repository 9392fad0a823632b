--- Plan of a session, `acp://plan/{n}`.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.plan')

---@class acp.PlanPage
---@field lines string[]
---@field spans acp.Span[]

local plans = {} ---@type table<integer, acp.PlanPage>
local MIN_ROWS, MAX_ROWS = 3, 12

local OPTIONS = {
  breakindentopt = 'list:-1',
  conceallevel = 2,
  concealcursor = '',
}

local function name_of(n) return 'acp://plan/' .. n end

--- Conceal `[x]` behind the same signs as in the chat.
---@param spans acp.Span[]
local function conceal(bufnr, spans)
  local marks = require('acp.ui.conceal')
  for _, span in ipairs(spans) do
    local row, first, last, group = unpack(span)
    local text = vim.api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1]
    for _, part in ipairs(text and marks.has(group) and marks.of(group, text, first, last) or {}) do
      vim.api.nvim_buf_set_extmark(bufnr, ns, row, part[1], {
        end_col = part[2],
        conceal = part[3] or '',
        hl_group = part[3] and group or nil,
        strict = false,
      })
    end
  end
end

--- Grow the acp windows of the plan to the height of the wrapped text. A window never shrinks
--- here. A float below a floating chat keeps its height.
local function fit(bufnr)
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    if vim.w[win].acp and not require('acp.ui.win').is_float(win) then
      local bar = vim.fn.getwininfo(win)[1].winbar -- 1 if the user sets a global 'winbar'
      local height = math.min(vim.api.nvim_win_text_height(win, {}).all, MAX_ROWS) + bar
      vim.api.nvim_win_set_height(win, math.max(height, vim.api.nvim_win_get_height(win)))
    end
  end
end

local function draw(n, bufnr)
  local plan = plans[n]
  if not plan or #plan.lines == 0 then
    local empty = require('acp.base.messages').no_plan
    require('acp.ui.scratch').fill(bufnr, { empty }, { { 0, 0, #empty, 'AcpMuted' } }, ns)
  else
    require('acp.ui.scratch').fill(bufnr, plan.lines, plan.spans, ns)
    conceal(bufnr, plan.spans)
  end
  fit(bufnr)
end

--- Store the plan of session `n`, and draw it if its buffer exists.
---@param spans acp.Span[]
function M.set(n, lines, spans)
  plans[n] = { lines = lines, spans = spans }
  local bufnr = require('acp.ui.scratch').find(name_of(n))
  if bufnr and vim.api.nvim_buf_is_loaded(bufnr) then draw(n, M.ensure(n)) end
end

---@return integer bufnr
function M.ensure(n)
  require('acp.ui.highlights').define()
  local bufnr, created = require('acp.ui.scratch').ensure(name_of(n), 'acpplan')
  if created then
    vim.bo[bufnr].formatlistpat = require('acp.ui.scratch').ITEM
    require('acp.ui.keymaps').attach('view', bufnr, n)
    require('acp.ui.scratch').on_read(bufnr, function() draw(n, bufnr) end)
    draw(n, bufnr)
  end
  return bufnr
end

---@return acp.OpenOpts
local function placement(n)
  local chat = require('acp.ui.window').showing(require('acp.ui.chats').bufnr(n))
  local size = MIN_ROWS
  if require('acp.ui.window.below').is_wanted(chat) then
    size = math.max(math.min(plans[n] and #plans[n].lines or MIN_ROWS, MAX_ROWS), MIN_ROWS)
  end
  return { layout = 'top', size = size, under = chat, options = OPTIONS }
end

--- Show the plan of session `n` above its chat or at the top. The focus does not move.
local function show(n)
  local bufnr = M.ensure(n)
  require('acp.ui.window').open_beside(bufnr, placement(n))
  fit(bufnr)
end

---@return integer|nil win
local function window_of(n)
  return require('acp.ui.window').showing(require('acp.ui.scratch').find(name_of(n)))
end

--- Show the plan of session `n`, or close its window.
function M.toggle(n)
  local win = window_of(n)
  if win then return require('acp.ui.window').close(win) end
  show(n)
end

--- Show the plan of session `new` in the window of the plan of `old`, whose chat was replaced.
---@param old integer
---@param new integer
function M.replace(old, new)
  local win, window = window_of(old), require('acp.ui.window')
  if not win then return end
  if window_of(new) then return window.close(win) end
  local bufnr = M.ensure(new)
  window.replace(win, bufnr, placement(new))
  fit(bufnr)
end

local hidden = {} ---@type table<integer, boolean> plans that were hidden with their chats

--- Close the plan of session `n`, whose chat is being hidden.
function M.hide(n)
  local win = window_of(n)
  hidden[n] = win ~= nil
  require('acp.ui.window').close(win)
end

--- Show the plan of session `n` if it was hidden with its chat.
function M.show_again(n)
  if hidden[n] and not window_of(n) then show(n) end
end

return M
