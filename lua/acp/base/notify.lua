--- Messages to the user: one line each, never wider than the screen, never with a hit-enter prompt.
--- |:messages| has the whole text of a message that is cut on the screen.
local M = {}

local text_width = require('acp.base.text.width')
--- Minimum number of cells for which a message is truncated. With less room the whole message goes
--- to |:messages|.
local NARROW = 10

--- Number of lines that one message may add to |:messages|. Each line needs a redraw.
local MOST_LINES = 12

--- Options for a notifier: snacks would render the text as Markdown, in which `_` and `*` vanish.
local PLAIN = { ft = 'text' }

--- Number of bytes after which a text is cut: more than any screen shows.
local MOST_BYTES = 10000

local HIGHLIGHTS = {
  [vim.log.levels.WARN] = 'WarningMsg',
  [vim.log.levels.ERROR] = 'ErrorMsg',
}

local waiting = {} ---@type { level: integer, message: string }[]

--- Return a level as a number of |vim.log.levels|. Names are accepted in any case.
local function number(level)
  if type(level) == 'number' then return level end
  return vim.log.levels[(level or 'info'):upper()] or vim.log.levels.INFO
end

--- Patterns of invisible characters and characters that reorder text: C1 controls, bidirectional
--- marks, zero-width characters. `acp_nvim/render/text.py` has the same list.
local INVISIBLE = {
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

local function spell_out(character) return ('<U+%04X>'):format(vim.fn.char2nr(character)) end

--- Return the beginning of a long text, up to a character of at most `MOST_BYTES`.
---@return string
local function beginning(text)
  if #text <= MOST_BYTES then return text end
  return text:sub(1, MOST_BYTES + vim.str_utf_start(text, MOST_BYTES + 1)) .. '…'
end

--- Return `text` on one line. Line breaks become spaces; invisible characters are spelled out. If
--- the text is longer than any screen, return only the beginning.
---@return string
function M.one_line(text)
  text = beginning(text)
  local line = text:gsub('%s*[\r\n]+%s*', ' '):gsub('\t', ' ')
  -- A string with a NUL would become a Blob in Vim's functions.
  line = line:gsub('%z', '^@'):gsub('%c', vim.fn.strtrans)
  for _, pattern in ipairs(line:find('[\x80-\xff]') and INVISIBLE or {}) do
    line = line:gsub(pattern, spell_out)
  end
  return line
end

--- Truncate `text` to `width` display cells, ending with an ellipsis if something was cut. Cut
--- between words if that leaves two thirds, else between characters with their composing ones.
---@return string
function M.cut(text, width)
  if text_width(text) <= width then return text end
  -- strcharpart() counts characters, so text with wide ones must be shortened further.
  local cells = math.max(width - 1, 0)
  local cut = vim.fn.strcharpart(text, 0, cells, true)
  while text_width(cut) > cells do
    cut = vim.fn.strcharpart(cut, 0, vim.fn.strchars(cut, true) - 1, true)
  end
  local words = text:sub(#cut + 1):match('^%s') and cut or cut:match('^(.*%S)%s+%S*$')
  if words and text_width(words) * 3 >= cells * 2 then cut = words end
  return cut .. '…'
end

--- Truncate the middle of `text`, such as a path, to `width` display cells. Its end gets most of
--- the room.
---@return string
function M.cut_middle(text, width)
  local count, cut = vim.fn.strchars(text, true), text
  local head, tail = math.floor(width / 3), width - 1 - math.floor(width / 3)
  while text_width(cut) > width and tail > 0 do
    local part = vim.fn.strcharpart
    cut = part(text, 0, head, true) .. '…' .. part(text, count - tail, tail, true)
    head, tail = math.max(head - 1, 0), tail - 1 -- wide characters need more cells
  end
  return cut
end

--- Return whether |vim.notify()| is the built-in one, which writes to the message area. Neovim 0.12
--- may have it compiled without the name of its source.
local function is_builtin()
  local source = debug.getinfo(vim.notify, 'S').source
  return source == '?' or source:match('^@?vim/') ~= nil
end

--- Return whether the user types on the command line or reads a prompt, because a message would
--- overwrite that line, or whether Terminal mode is about to end, which would erase the message.
local function is_prompting()
  local mode = vim.api.nvim_get_mode().mode
  return mode:match('^[cr]') ~= nil or mode == 't' and vim.bo.buftype ~= 'terminal'
end

---@return integer cells for a message; almost none if the ruler is on the same line
local function message_cells() return math.max(vim.v.echospace - 1, 0) end

--- Return the option that prevents a hit-enter prompt after a long message. In 0.10 this is
--- 'cmdheight': there is no prompt if the message fits.
---@return string option
---@return string|integer value
local function no_prompt_option(message)
  if vim.fn.exists('+messagesopt') == 1 then
    return 'messagesopt', 'wait:0,' .. (vim.o.messagesopt:match('history:%d+') or 'history:500')
  end
  local rows = 1
  for line in vim.gsplit(message, '\n', { plain = true }) do
    rows = rows + math.ceil(text_width(line) / vim.o.columns)
  end
  return 'cmdheight', math.max(vim.o.cmdheight, math.min(rows, vim.o.lines - 3))
end

--- Cut a message to as many rows as cause no prompt at present. A message that fills the screen
--- causes a more-prompt, and Neovim limits 'cmdheight' to what the windows leave.
---@return string
local function without_prompt(message)
  local has_option = vim.fn.exists('+messagesopt') == 1
  local rows = has_option and vim.o.lines - 2 or vim.o.cmdheight - 1
  return M.cut(message, math.max(rows * vim.o.columns, message_cells()))
end

--- Restore the cursor behind the end of a line. Neovim leaves Insert mode while it shows a long
--- message, and a function that runs then, such as |nvim_win_call()|, moves the cursor from there.
---@param win integer
---@param cursor integer[]
local function restore_cursor(win, cursor)
  local is_inserting = vim.api.nvim_get_mode().mode:find('^[iR]') ~= nil
  if is_inserting and vim.api.nvim_get_current_win() == win then
    local row, column = unpack(vim.api.nvim_win_get_cursor(win))
    if row == cursor[1] and column < cursor[2] then vim.api.nvim_win_set_cursor(win, cursor) end
  end
end

--- Redraw the screen. Without `silent!`, Neovim would first show an error for a second, and in some
--- modes for three, in which it takes no key.
local function redraw() vim.cmd.redraw({ mods = { emsg_silent = true } }) end

--- Return whether a message would cause a hit-enter prompt, as an error does if 'cmdheight' is 0.
local function would_prompt(level) return vim.o.cmdheight == 0 and level >= vim.log.levels.ERROR end

--- Return whether Neovim shows the name of the mode where messages are.
local function has_mode_message() return vim.api.nvim_get_mode().mode ~= 'n' end

--- Pass a message of one line to |vim.notify()|. If the name of a mode would overwrite the message,
--- use |nvim_echo()| instead of the built-in notifier, in which an error would block Neovim, or
--- wait for a key if a completion ends.
local function notify(level, message)
  if not has_mode_message() or not is_builtin() then return vim.notify(message, level, PLAIN) end
  vim.api.nvim_echo({ { message, HIGHLIGHTS[level] } }, true, {})
  redraw() -- draws the name of the mode now, so that a later redraw does not overwrite the message
end

--- Pass a whole message to |vim.notify()|: to the user's own notifier, or to the built-in one if
--- the screen has no room. The built-in one must not leave a hit-enter prompt.
local function pass_to_notify(level, message)
  local is_fitting = not message:find('\n', 1, true) and text_width(message) <= message_cells()
  if is_fitting and not would_prompt(level) then return notify(level, message) end
  local option, value = no_prompt_option(message)
  local win, cursor = vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0)
  local before = vim.o[option]
  vim.o[option] = value
  if is_builtin() then message = without_prompt(message) end
  local ok, why = pcall(notify, level, message)
  redraw()
  vim.o[option] = before
  restore_cursor(win, cursor)
  if not ok then error(why, 0) end
end

--- Wrap a message to lines of at most `width` cells. Lines after the first are indented.
---@return string[]
local function wrap(message, width)
  local lines, rest = {}, message
  while text_width(rest) > width and #lines < MOST_LINES - 1 do
    local line = M.cut(rest, width):sub(1, -#'…' - 1)
    lines[#lines + 1] = line
    rest = '  ' .. vim.trim(rest:sub(#line + 1))
  end
  lines[#lines + 1] = M.cut(rest, width)
  return lines
end

--- Show a message with the built-in |vim.notify()|. If it is too long for the screen, its lines go
--- to |:messages|, and its cut text is shown.
local function show_builtin(level, message)
  local lines, highlight = wrap(message, message_cells()), HIGHLIGHTS[level]
  if #lines == 1 and not would_prompt(level) then return notify(level, message) end
  for _, line in ipairs(lines) do
    vim.api.nvim_echo({ { line, highlight } }, true, {})
    if #lines > 1 then redraw() end -- the next line overwrites this one
  end
  if #lines > 1 then
    vim.api.nvim_echo({ { M.cut(message, message_cells()), highlight } }, false, {})
  end
  if has_mode_message() then redraw() end
end

local function show_now(level, message)
  -- After a redraw, the next message overwrites the last one instead of causing a prompt.
  redraw()
  if not is_builtin() or message_cells() < NARROW then
    pass_to_notify(level, message)
  else
    show_builtin(level, message)
  end
end

local function flush()
  local list = waiting
  waiting = {}
  for _, message in ipairs(list) do
    show_now(message.level, message.message)
  end
end

local function notify_later(level, message)
  waiting[#waiting + 1] = { level = level, message = message }
  if #waiting == 1 then
    vim.api.nvim_create_autocmd('ModeChanged', {
      pattern = { 'c*:*', 'r*:*', 't:*' },
      once = true,
      callback = vim.schedule_wrap(flush),
    })
  end
end

local function show_or_queue(level, text)
  if vim.v.exiting ~= vim.NIL then
    return -- after an error, Neovim would wait for a key before it exits
  end
  if is_prompting() then
    notify_later(level, text)
  else
    show_now(level, text)
  end
end

local is_deferring = false

--- Run `fn` and delay its messages until Neovim waits for a key again. A visible message at the
--- start of Insert mode would block Neovim for three seconds; the end of Insert mode erases it.
---@param ... any arguments of `fn`
---@return any result
function M.defer_messages(fn, ...)
  is_deferring = true
  local ok, result = pcall(fn, ...)
  is_deferring = false
  if not ok then error(result, 0) end
  return result
end

--- Show one line with |vim.notify()|, prefixed with `acp:`. While the user is on the command line,
--- it is delayed until they leave it. If 'cmdheight' is 0, it is delayed until the command has
--- finished, to avoid a hit-enter prompt. If there are several messages, the first is shown; all
--- are in |:messages|.
---@param level string|integer|nil
---@param message string|string[]
function M.echo(level, message)
  if type(message) == 'table' then
    local summary = require('acp.base.messages').more_in_messages
    return M.list(level, summary:format(message[1], #message - 1), message)
  end
  local is_delayed = is_deferring or vim.o.cmdheight == 0
  local show_line = is_delayed and vim.schedule_wrap(show_or_queue) or show_or_queue
  show_line(number(level), 'acp: ' .. M.one_line(message))
end

--- Show a message of `acp.base.messages`.
---@param level 'info'|'warn'|'error'
---@param name string
---@param ... any values of its placeholders
function M.show(level, name, ...) M.echo(level, require('acp.base.messages')[name]:format(...)) end

function M.error(message) M.echo('error', message) end

--- Show several lines. They go to |:messages|, with a summary of one line on the screen, or whole
--- to the user's own notifier.
---@param level string|integer
---@param summary string
function M.list(level, summary, lines)
  if not is_builtin() then
    return show_now(number(level), 'acp: ' .. summary .. '\n' .. table.concat(lines, '\n'))
  end
  -- Each line is overwritten at once but stays in the history.
  for _, line in ipairs(lines) do
    M.echo(level, line)
  end
  if #lines > 1 then M.echo(level, summary) end
end

return M
