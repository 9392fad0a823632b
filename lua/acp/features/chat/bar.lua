--- Winbar of a chat: agent, status and its duration, and counts of waiting items.
local M = {}

local api = vim.api
local literal, set_bar = require('acp.ui.win').literal, require('acp.ui.win').set_bar

local activity, notify = require('acp.ui.activity'), require('acp.base.notify')

local TICK_MS = 1000
local MARGIN, LEAST_TITLE = 4, 8 -- cells
local TITLE, TOKENS, MODEL, MODE, COST, CONTEXT = 1, 2, 3, 4, 5, 6 -- parts of the right half
local FULL = 85 -- percent of the context above which its use is a warning

local timer ---@type uv.uv_timer_t|nil

---@param parts (string|nil)[] with gaps
local function join(parts)
  local present = {}
  for i = 1, table.maxn(parts) do
    present[#present + 1] = parts[i]
  end
  return notify.one_line(table.concat(present, ' · '))
end

--- Return the use of the context, `1%` or `34k`, and whether it is nearly full.
---@return string|nil
---@return boolean full
local function context(usage)
  if not usage or not usage.used or not usage.size then return nil, false end
  if usage.size == 0 then return activity.tokens(usage.used), false end
  local percent = math.ceil(usage.used / usage.size * 100)
  return percent .. '%', percent >= FULL
end

--- Return the tokens of the last turn: `1.2k tokens`.
---@return string|nil
local function tokens(usage)
  local total = usage and usage.total
  if not total or total == 0 then return nil end
  return total < 1000 and ('%d tokens'):format(total) or ('%.1fk tokens'):format(total / 1000)
end

--- Join as many parts as fit. The title is shortened or left out first, the mode last, since it
--- says what the agent may do. A context that is nearly full is left out even later. Other parts
--- are never shortened.
---@param parts (string|nil)[] title, tokens, model, mode, cost, context
---@param room integer cells
---@param full boolean whether the context is nearly full
local function join_within(parts, room, full)
  local used = parts[CONTEXT]
  for _, dropped in ipairs({ TITLE, TOKENS, MODEL, COST, full and MODE or CONTEXT }) do
    local text = join(parts)
    local excess = api.nvim_strwidth(text) - room
    if excess <= 0 then return text end
    local left = parts[TITLE] and api.nvim_strwidth(parts[TITLE]) - excess or 0
    if left >= LEAST_TITLE then
      parts[TITLE] = notify.cut(parts[TITLE], left)
      return join(parts)
    end
    parts[dropped] = nil
  end
  for _, text in ipairs({ join(parts), used or '' }) do
    if api.nvim_strwidth(text) <= room then return text end
  end
  return ''
end

--- Return the right half: title or the worktree's branch, which is made of the title, tokens of the
--- last turn, model, mode, cost and context.
---@param room integer cells
local function right_of(session, room)
  local used, full = context(session.usage)
  local title = session.worktree and session.worktree.branch or session.title
  title = title and notify.one_line(title)
  local model = session.model and notify.one_line(session.model.name)
  local cost = session.usage and activity.cost(session.usage.cost)
  local mode = activity.mode(session.modes)
  local parts = { title, tokens(session.turn_usage), model, mode, cost, used }
  local text = join_within(parts, room, full)
  if used and full and vim.endswith(text, used) then
    local before = literal(text:sub(1, #text - #used))
    return before .. '%#AcpWarning#' .. literal(used) .. '%*'
  end
  return literal(text)
end

--- Return the winbar.
---@param width integer cells
local function text(n, width)
  local session = require('acp.base.state').get().sessions[n]
  if not session or not session.agent then
    local agent = activity.agent(require('acp.base.valid_names').agent())
    return (' %s · new session '):format(literal(agent))
  end
  local summary = activity.of(n, session, session.edits or {})
  local preset = session.preset and (' (%s)'):format(session.preset) or ''
  local trust = session.trust and (' · trust %s'):format(session.trust) or ''
  local parts = { summary.agent .. preset .. trust, summary.status }
  vim.list_extend(parts, summary.counts)
  local function is_wide() return api.nvim_strwidth(join(parts)) > width - 1 end
  if is_wide() then
    parts[2] = parts[2]:gsub(' %l+ [%d:]+[ %l]*$', '') -- without the duration
  end
  while #parts > 2 and is_wide() do
    parts[#parts] = nil -- a part is never shortened
  end
  -- Trust, which says what the agent may do unasked, matters more than the agent's name.
  if is_wide() then parts[1] = summary.agent .. trust end
  if is_wide() then parts[1] = session.trust and 'trust ' .. session.trust or nil end
  local room = width - api.nvim_strwidth(join(parts)) - MARGIN
  local group = session.error and 'AcpError' or summary.waits and 'AcpPermission'
  local words = {}
  for i = 1, table.maxn(parts) do
    local word = parts[i] and literal(notify.one_line(parts[i]))
    words[#words + 1] = i == 2 and group and ('%%#%s#%s%%*'):format(group, word) or word
  end
  local left = table.concat(words, ' · ')
  if room < 0 then return ' ' .. left end
  return (' %s %%<%%=%s '):format(left, right_of(session, room))
end

---@return boolean busy whether a session that is shown is working
local function update()
  local is_busy = false
  local shown = require('acp.config').get().chat.bar
  for _, win in ipairs(api.nvim_list_wins()) do
    local n = require('acp.ui.chats').number(api.nvim_win_get_buf(win))
    if n then
      set_bar(win, shown and text(n, api.nvim_win_get_width(win)) or '')
      local session = shown and require('acp.base.state').get().sessions[n]
      is_busy = is_busy or session and activity.is_ticking(session) or false
    end
  end
  return is_busy
end

--- Update the winbars and statuslines, once per second while a visible session is working.
function M.update()
  local is_busy, ticks = update(), require('acp.ui.statusline').update()
  if (is_busy or ticks) and not timer then
    timer = vim.defer_fn(function()
      timer = nil
      M.update()
    end, TICK_MS)
  end
end

--- Schedule an update, so that several changes at a time cause only one.
M.schedule = require('acp.base.schedule_once')(M.update)

--- Keep the winbars of all chats up to date.
M.watch = require('acp.base.once')(function()
  activity.watch() -- its autocommands have to run first
  local on = require('acp.base.autocmds').group('acp.bar')
  on('WinResized', M.schedule)
  on('User', M.schedule, { pattern = { 'AcpTurnStart', 'AcpTurnEnd', 'AcpState' } })
end)

return M
