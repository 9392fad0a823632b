--- Winbar of a composer: the agent, its mode and the keys.
local M = {}

local text_width = require('acp.base.text.width')
local activity, win_of = require('acp.ui.activity'), require('acp.ui.win')
local notify, state = require('acp.base.notify'), require('acp.base.state')

--- Return the session's number as text if there are several sessions.
local function session_label(n)
  return require('acp.ui.window.titles').several() and ('session %d'):format(n) or nil
end

--- Return the mode, or the reason why the session is not open.
---@param session acp.Session|nil
---@param is_requested boolean whether the session has been requested
---@return string|nil words
---@return boolean is_error
local function condition(session, is_requested)
  if not session then return is_requested and 'starting' or 'new session', false end
  local is_not_open = session.status == 'failed' or not session.id
  if session.error and is_not_open then return session.error, true end
  if session.status == 'starting' or session.status == 'closed' then
    return session.status, false
  end
  return activity.mode(session.modes), false
end

--- Return the keys that send the prompt and show help, and the first of them alone.
---@param session acp.Session|nil
---@return string both
---@return string send
local function key_texts(session)
  local is_busy = session and (session.status == 'running' or session.status == 'cancelling')
  local send, words = is_busy and 'queue' or 'send', require('acp.ui.keymaps').words
  return words('composer', { send = send, help = 'keys' }), words('composer', { send = send })
end

--- Return as many of the names as fit, and the number of the others.
---@param names string[]
---@param room integer cells
local function names_that_fit(names, room)
  if #names == 0 then return '' end
  for count = #names, 1, -1 do
    local more = count < #names and (' +%d more'):format(#names - count) or ''
    local line = notify.one_line('+ ' .. table.concat(names, ', ', 1, count)) .. more
    if text_width(line) <= room then return line end
  end
  return notify.cut_middle('+ ' .. notify.one_line(names[1]), math.max(room - 10, 10))
    .. (#names > 1 and (' +%d more'):format(#names - 1) or '')
end

--- Return the width of a part of the bar with its separator, in cells.
local function part_width(text) return text == '' and 0 or text_width(' · ' .. text) end

--- Return the title and the keys that fit. The key for help is left out first, then "Message", then
--- all keys.
---@param name string agent and session
---@param session acp.Session|nil
---@param room integer cells
---@return string title
---@return string keys
local function fit(name, session, room)
  local title = 'Message ' .. name
  local both, send = key_texts(session)
  for _, choice in ipairs({ { title, both }, { title, send }, { name, send }, { title, '' } }) do
    if text_width(choice[1]) + part_width(choice[2]) <= room then return unpack(choice) end
  end
  return name, ''
end

--- Return the bar: the title, the mode or an error, the attachments, and the keys on the right.
---@param is_requested boolean
---@param attached string[] labels of ranges and attachments
---@param width integer cells
local function bar_text(n, is_requested, attached, width)
  local session = state.get().sessions[n]
  local agent = session and session.agent or require('acp.base.valid_names').agent()
  local name = table.concat({ activity.agent(agent), session_label(n) }, ' · ')
  local words, is_error = condition(session, is_requested)
  words = notify.one_line(words or '')
  if is_error then words = notify.cut(words, math.max(width - text_width(name) - 5, 10)) end
  local room = width - 2 - part_width(words)
  local names = names_that_fit(attached, room - text_width(name) - 3)
  local title, keys = fit(name, session, room - part_width(names))
  local left = '%#AcpTitle#' .. win_of.literal(title) .. '%*'
  if words ~= '' then
    local format = is_error and '%%#AcpError#%s%%*' or '%s'
    left = left .. ' · ' .. format:format(win_of.literal(words))
  end
  if names ~= '' then left = left .. ' · %#AcpAttachment#' .. win_of.literal(names) .. '%*' end
  return (' %s %%<%%=%s '):format(left, win_of.literal(keys))
end

--- Update the winbar of all windows of a composer.
---@param is_requested boolean whether its session has been requested
---@param attached string[] labels of ranges and attachments
function M.update(n, bufnr, is_requested, attached)
  local is_on = require('acp.config').get().chat.bar
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    local width = vim.api.nvim_win_get_width(win)
    local value = is_on and bar_text(n, is_requested, attached, width) or ''
    if vim.w[win].acp then win_of.set_bar(win, value) end
  end
end

return M
