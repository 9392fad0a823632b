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
---@param begun boolean whether the session has been requested
---@return string|nil words
---@return boolean is_error
local function condition(session, begun)
  if not session then return begun and 'starting' or 'new session', false end
  local is_not_open = session.status == 'failed' or not session.id
  if session.error and is_not_open then return session.error, true end
  if session.status == 'starting' or session.status == 'closed' then
    return session.status, false
  end
  return activity.mode(session.modes), false
end

--- Return the keys in three lengths: both, the one that sends, none.
---@param session acp.Session|nil
---@return string[]
local function keys(session)
  local busy = session and (session.status == 'running' or session.status == 'cancelling')
  local send, words = busy and 'queue' or 'send', require('acp.ui.keymaps').words
  local both = words('composer', { send = send, help = 'keys' })
  return { both, words('composer', { send = send }), '' }
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
  return notify.cut('+ ' .. notify.one_line(names[1]), math.max(room - 10, 10))
    .. (#names > 1 and (' +%d more'):format(#names - 1) or '')
end

--- Return the beginning of the bar and the keys that fit with it. "Message" gives way to the key
--- that sends, and both give way to the names of attachments.
---@param left string agent and session
---@param key_texts string[]
---@param room integer cells
---@return string left
---@return string keys
local function shorten(left, key_texts, room)
  local long = 'Message ' .. left
  local both, send, none = unpack(key_texts)
  local choices = { { long, both }, { long, send }, { left, send }, { long, none } }
  for _, choice in ipairs(choices) do
    local used = text_width(choice[1]) + (choice[2] ~= '' and text_width(choice[2]) + 3 or 0)
    if used <= room then return choice[1], choice[2] end
  end
  return left, none
end

---@param begun boolean
---@param attached string[] labels of ranges and attachments
---@param width integer cells
local function bar_text(n, begun, attached, width)
  local session = state.get().sessions[n]
  local name = session and session.agent or require('acp.base.valid_names').agent()
  local words, is_error = condition(session, begun)
  words = words and notify.one_line(words)
  local agent, label = activity.agent(name), session_label(n)
  local left = table.concat({ agent, label }, ' · ')
  if is_error then words = notify.cut(words, math.max(width - text_width(left) - 5, 10)) end
  local used = 2 + (words and text_width(words) + 3 or 0)
  local names = names_that_fit(attached, width - used - text_width(left) - 3)
  used = used + (names ~= '' and text_width(names) + 3 or 0)
  local right
  left, right = shorten(left, keys(session), width - used)
  local shown = '%#AcpTitle#' .. win_of.literal(left) .. '%*'
  if words then
    local format = is_error and '%%#AcpError#%s%%*' or '%s'
    shown = shown .. ' · ' .. format:format(win_of.literal(words))
  end
  if names ~= '' then shown = shown .. ' · %#AcpAttachment#' .. win_of.literal(names) .. '%*' end
  return (' %s %%<%%=%s '):format(shown, win_of.literal(right))
end

--- Update the winbar of all windows of a composer.
---@param begun boolean whether its session has been requested
---@param attached string[] labels of ranges and attachments
function M.update(n, bufnr, begun, attached)
  local wanted = require('acp.config').get().chat.bar
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    local value = wanted and bar_text(n, begun, attached, vim.api.nvim_win_get_width(win)) or ''
    if vim.w[win].acp then win_of.set_bar(win, value) end
  end
end

return M
