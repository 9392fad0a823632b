--- One line to the user: never two, never wider than the screen, never a hit-enter prompt.
local M = {}

local text_width = require('acp.base.text_width')
--- With fewer cells than this a message that is cut to them says nothing.
local NARROW = 10

local waiting = {} ---@type { level: integer, message: string }[]

--- `level` as a number of |vim.log.levels|; accepts its names in any case.
local function number(level)
  if type(level) == 'number' then return level end
  return vim.log.levels[(level or 'info'):upper()] or vim.log.levels.INFO
end

--- Bytes of characters that nobody sees or that turn text around, as `acp_nvim/render/text.py` has
--- them: C1 controls, bidirectional marks, zero widths.
local UNSEEN = {
  '\xc2[\x80-\x9f\xad]',
  '\xcd\x8f',
  '\xd8\x9c',
  '\xe1\x85[\x9f\xa0]',
  '\xe2\x80[\x8b\x8e\x8f\xa8-\xae]',
  '\xe2\x81[\xa0-\xaf]',
  '\xe3\x85\xa4',
  '\xef\xbb\xbf',
  '\xef\xbe\xa0',
  '\xf3\xa0[\x80-\xbf][\x80-\xbf]',
}

local function spelled(character) return ('<U+%04X>'):format(vim.fn.char2nr(character)) end

--- `text` on one line: line breaks become spaces, what can't be seen is spelled out.
---@return string
function M.one_line(text)
  local line = text:gsub('%s*[\r\n]+%s*', ' '):gsub('\t', ' ')
  -- A string with a NUL would be a Blob to Vim's functions.
  line = line:gsub('%z', '^@'):gsub('%c', vim.fn.strtrans)
  for _, pattern in ipairs(line:find('[\x80-\xff]') and UNSEEN or {}) do
    line = line:gsub(pattern, spelled)
  end
  return line
end

--- `text` cut to `width` display cells, with an ellipsis where something is missing.
---@return string
function M.cut(text, width)
  if text_width(text) <= width then return text end
  -- strcharpart counts characters, so wide ones need a second, shorter try.
  local cells = math.max(width - 1, 0)
  local cut = vim.fn.strcharpart(text, 0, cells)
  while text_width(cut) > cells do
    cut = vim.fn.strcharpart(cut, 0, vim.fn.strchars(cut) - 1)
  end
  return cut .. '…'
end

--- Whether |vim.notify()| is Neovim's own, which writes to the message area.
local function builtin() return debug.getinfo(vim.notify, 'S').source:match('^@?vim/') ~= nil end

--- A message while the user types on the command line or reads a prompt would destroy that line.
local function busy() return vim.api.nvim_get_mode().mode:match('^[cr]') ~= nil end

---@return integer cells that a message may take; hardly any where the ruler stands beside it
local function space() return math.max(vim.v.echospace - 1, 0) end

--- The option that keeps Neovim from waiting for a key after a long message. 0.10 has none, but
--- does not wait where there is room.
---@return string option
---@return string|integer value
local function patience(message)
  if vim.fn.exists('+messagesopt') == 1 then
    return 'messagesopt', 'wait:0,' .. (vim.o.messagesopt:match('history:%d+') or 'history:500')
  end
  local rows = 1
  for line in vim.gsplit(message, '\n', { plain = true }) do
    rows = rows + math.ceil(text_width(line) / vim.o.columns)
  end
  return 'cmdheight', math.max(vim.o.cmdheight, math.min(rows, vim.o.lines - 3))
end

--- Whether Neovim would wait for a key: it does so after an error for which there is no line.
local function waits(level) return vim.o.cmdheight == 0 and level >= vim.log.levels.ERROR end

--- The user's own notifier gets a message whole, and so does |:messages| where the screen has no
--- room for one. Where it is passed on to Neovim's own, that must not leave a prompt behind.
local function hand_over(level, message)
  local fits = not message:find('\n', 1, true) and text_width(message) <= space()
  if fits and not waits(level) then
    vim.notify(message, level)
    return
  end
  local option, value = patience(message)
  local before = vim.o[option]
  vim.o[option] = value
  local ok, why = pcall(vim.notify, message, level)
  vim.cmd.redraw()
  vim.o[option] = before
  if not ok then error(why, 0) end
end

local function show(level, message)
  -- After a redraw the next message overwrites the last one instead of scrolling to a prompt.
  vim.cmd.redraw()
  if not builtin() or space() < NARROW then
    hand_over(level, message)
  elseif waits(level) then
    vim.api.nvim_echo({ { M.cut(message, space()), 'ErrorMsg' } }, true, {})
  else
    vim.notify(M.cut(message, space()), level)
  end
end

local function flush()
  local list = waiting
  waiting = {}
  for _, one in ipairs(list) do
    show(one.level, one.message)
  end
end

local function later(level, message)
  waiting[#waiting + 1] = { level = level, message = message }
  if #waiting == 1 then
    vim.api.nvim_create_autocmd('ModeChanged', {
      pattern = { 'c*:*', 'r*:*' },
      once = true,
      callback = vim.schedule_wrap(flush),
    })
  end
end

local function put(level, text)
  if vim.v.exiting ~= vim.NIL then
    return -- nobody reads it any more, and after an error Neovim would wait for a key
  end
  if busy() then
    later(level, text)
  else
    show(level, text)
  end
end

local put_off = false

--- Run `fn`; what it says is shown as soon as Neovim waits for a key again. A message that stands
--- there when Insert mode begins would make Neovim wait for three seconds, deaf to all else.
---@param ... any arguments of `fn`
---@return any result
function M.afterwards(fn, ...)
  put_off = true
  local ok, result = pcall(fn, ...)
  put_off = false
  if not ok then error(result, 0) end
  return result
end

--- One line through |vim.notify()|, prefixed with `acp:`; on the command line it waits for its end,
--- and where there is no line for messages for the end of the command: that would become a prompt.
--- Of several the first is shown, all are in |:messages|.
---@param level string|integer|nil
---@param message string|string[]
function M.echo(level, message)
  if type(message) == 'table' then
    M.list(
      level,
      require('acp.base.messages').more_in_messages:format(message[1], #message - 1),
      message
    )
    return
  end
  local later_on = put_off or vim.o.cmdheight == 0
  local say = later_on and vim.schedule_wrap(put) or put
  say(number(level), 'acp: ' .. M.one_line(message))
end

--- One line of error, as the answer to a command.
function M.error(message) M.echo('error', message) end

--- Several lines: into |:messages| with a summary of one line, or whole to the user's own
--- notifier.
---@param level string|integer
---@param summary string
function M.list(level, summary, lines)
  if not builtin() then
    return show(number(level), 'acp: ' .. summary .. '\n' .. table.concat(lines, '\n'))
  end
  -- Each is shown for no time at all, but stays in the history.
  for _, line in ipairs(lines) do
    M.echo(level, line)
  end
  if #lines > 1 then M.echo(level, summary) end
end

--- One line, only while Neovim has no focus and option `notify` is on.
local function unfocused(message)
  if vim.g.acp_focused == false and require('acp.config').get().notify then
    M.echo('info', message)
  end
end

local ends = {
  end_turn = 'turn_ended',
  max_tokens = 'turn_at_token_limit',
  max_turn_requests = 'turn_at_request_limit',
  refusal = 'turn_refused',
}

--- The agent of a session, as its own name is.
local function agent(n)
  local state = require('acp.base.state').get()
  local name = (state.sessions[n or -1] or {}).agent or 'acp'
  local info = (state.agents[name] or {}).info or {}
  return info.title or info.name or (name:sub(1, 1):upper() .. name:sub(2))
end

--- Watch ends of turns. Called once, when the host starts.
function M.watch()
  local on = require('acp.base.autocmds').group('acp.notify')
  on('User', function(args)
    local data = args.data or {}
    if data.stop_reason ~= 'cancelled' then
      local name = data.error and 'turn_failed' or ends[data.stop_reason] or ends.end_turn
      unfocused(require('acp.base.messages')[name]:format(agent(data.session)))
    end
  end, { pattern = 'AcpTurnEnd' })
end

return M
