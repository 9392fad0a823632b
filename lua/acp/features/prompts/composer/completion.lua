--- Completion of `/command`, `@file`, `{variable}` and `#prompt` in the composer. It uses tables
--- and caches only and never blocks.
local M = {}

local notify, valid_names = require('acp.base.notify'), require('acp.base.valid_names')
local paths_of, places = require('acp.base.paths'), require('acp.base.places')

local MOST = 200
local HINT, ABOUT = 20, 50 -- cells in the menu for a command's argument and its description

--- Return the kind of the word at the cursor. A command is the first word of the prompt's first
--- line.
---@param line string up to the cursor
---@param row integer 1-based
---@return 'command'|'mention'|'prompt'|nil kind
---@return integer col 0-based start of the text to replace
local function at_cursor(line, row)
  line = line:gsub('\\[%p%s]', '\0\0') -- an escaped blank is part of a name
  local mention = line:match('.*%s()@%S*$') or line:match('^()@%S*$')
  if mention then return 'mention', mention - 1 end
  local variable = line:match('.*()%{[%l:|]*$')
  if variable then return 'mention', variable - 1 end
  local prompt = line:match('.*%s()#[%w_.-]*$') or line:match('^()#[%w_.-]*$')
  if prompt then return 'prompt', prompt - 1 end
  if row == 1 and line:match('^%s*/%S*$') then return 'command', #line:match('^%s*') end
  return nil, -3
end

local function session_of(bufnr)
  return tonumber(vim.api.nvim_buf_get_name(bufnr):match('^acp://composer/(%d+)$'))
end

--- Return an agent's text with unprintable characters spelled out.
local function legible(text)
  local lines = vim.split(text or '', '\r?\n')
  return table.concat(vim.tbl_map(notify.one_line, lines), '\n')
end

--- Return the agent's commands that match, with argument and description. Names that cannot be
--- typed are left out.
---@param base string including the `/`
---@return table[] items
local function commands(base, n)
  local one_line, cut = notify.one_line, notify.cut
  local session = require('acp.base.state').get().sessions[n or -1]
  local items, names = {}, {}
  for _, command in ipairs(session and session.commands or {}) do
    local name = command.name
    if legible(name) == name and not name:find('%s') then
      local hint = one_line(command.hint or '')
      names[#names + 1] = name
      items[name] = {
        word = '/' .. name .. (command.hint and ' ' or ''),
        abbr = '/' .. name .. (hint ~= '' and ' ' .. cut(hint, HINT) or ''),
        menu = cut(one_line((command.description or ''):match('^[^\r\n]*')), ABOUT),
        info = legible(command.description),
        dup = 1,
      }
    end
  end
  names = valid_names.matching(names, base:sub(2))
  return vim.tbl_map(function(name) return items[name] end, names)
end

--- Return the matching prompts of the library. `replace_name` inserts the text of the chosen one.
---@param base string including the `#`
---@return table[] items
local function prompts(base)
  local items, names = {}, {}
  for _, prompt in ipairs(require('acp.base.signals').emit('prompts_wanted') or {}) do
    names[#names + 1] = prompt.name
    items[prompt.name] = {
      word = '#' .. prompt.name,
      menu = notify.cut(notify.one_line(prompt.text:match('^[^\r\n]*')), ABOUT),
      info = legible(prompt.text),
      user_data = { acp_prompt = prompt.text },
      dup = 1,
    }
  end
  names = valid_names.matching(names, base:sub(2))
  return vim.tbl_map(function(name) return items[name] end, names)
end

--- Put the text of a prompt in place of its name, if one was chosen from the menu.
---@return string|nil text
function M.replace_name()
  local item = vim.v.completed_item
  local text = type(item.user_data) == 'table' and item.user_data.acp_prompt
  local at = vim.api.nvim_win_get_cursor(0)
  local before = vim.api.nvim_get_current_line():sub(1, at[2])
  if not text or not vim.endswith(before, item.word) then return nil end
  local lines = vim.split(text, '\n', { plain = true })
  local row, col = at[1] - 1, at[2] - #item.word
  vim.api.nvim_buf_set_text(0, row, col, row, at[2], lines)
  local last = #lines[#lines] + (#lines == 1 and col or 0)
  vim.api.nvim_win_set_cursor(0, { row + #lines, last })
  return text
end

---@param base string including the `@`
---@return table[] items
---@return boolean ready whether the list of files exists
local function files(base)
  local paths, ready = require('acp.features.prompts.composer.files').list(places.cwd())
  local lead = paths_of.unquoted(base:sub(2))
  local found = lead == '' and paths or vim.fn.matchfuzzy(paths, lead, { limit = MOST })
  local function item(path)
    return { word = '@' .. paths_of.quoted(path), abbr = '@' .. paths_of.spelled(path), dup = 1 }
  end
  return vim.tbl_map(item, vim.list_slice(found, 1, MOST)), ready
end

--- Call `fn` when `wait` calls back, if the buffer is the same and unchanged and no menu is open.
---@param wait fun(fn: fun())
---@param fn fun()
local function if_still_here(wait, fn)
  local bufnr, tick = vim.api.nvim_get_current_buf(), vim.b.changedtick
  wait(function()
    local here = vim.api.nvim_get_current_buf() == bufnr and vim.b.changedtick == tick
    if here and vim.api.nvim_get_mode().mode:match('^i') and vim.fn.pumvisible() == 0 then fn() end
  end)
end

local function files_listed(fn)
  require('acp.features.prompts.composer.files').when_ready(places.cwd(), fn)
end

--- Return a function that calls its argument once the agent of session `n` has sent its commands.
local function commands_known(n)
  return function(fn)
    local on, group = require('acp.base.autocmds').group('acp.completion')
    on('User', function()
      local session = require('acp.base.state').get().sessions[n]
      if session and #(session.commands or {}) > 0 then
        vim.api.nvim_del_augroup_by_id(group)
        fn()
      end
    end, { pattern = 'AcpState' })
  end
end

--- Return the word at the cursor that can be completed.
---@return 'command'|'mention'|'prompt'|nil kind
---@return string base
local function word()
  local at = vim.api.nvim_win_get_cursor(0)
  local line = vim.api.nvim_get_current_line():sub(1, at[2])
  local kind, col = at_cursor(line, at[1])
  return kind, kind and line:sub(col + 1) or ''
end

--- Return whether the cursor is just behind a `/`, `@`, `{` or `#` that starts a word.
---@return boolean
function M.is_at_start()
  local kind, base = word()
  if not kind or #base ~= 1 then return false end
  local col = vim.api.nvim_win_get_cursor(0)[2]
  return col == 1 or vim.api.nvim_get_current_line():sub(col - 1, col - 1):match('%s') ~= nil
end

--- Return whether there is a completion at the cursor.
---@return boolean
function M.any()
  local _, base = word()
  return #M.omni(0, base).words > 0
end

--- Call `fn` when the list for the word at the cursor is known: now, or later if the user has
--- typed nothing else.
---@param n integer
---@param fn fun()
function M.when_known(n, fn)
  local kind, base = word()
  local session = require('acp.base.state').get().sessions[n]
  if kind == 'command' and #((session or {}).commands or {}) == 0 then
    if_still_here(commands_known(n), fn)
  elseif
    base == '@' and not select(2, require('acp.features.prompts.composer.files').list(places.cwd()))
  then
    if_still_here(files_listed, fn)
  else
    fn()
  end
end

--- 'omnifunc' of the composer.
---@param findstart integer
---@param base string
---@return integer|table
function M.omni(findstart, base)
  if findstart == 1 then
    local at = vim.api.nvim_win_get_cursor(0)
    local _, col = at_cursor(vim.api.nvim_get_current_line():sub(1, at[2]), at[1])
    return col
  end
  if base:sub(1, 1) == '/' then
    return { words = commands(base, session_of(0)), refresh = 'always' }
  end
  if base:sub(1, 1) == '#' then return { words = prompts(base), refresh = 'always' } end
  local variables = require('acp.features.prompts.composer.variables')
  if base:sub(1, 1) == '{' then
    return { words = variables.completions(base), refresh = 'always' }
  end
  local found, ready = files(base)
  if not ready then
    if_still_here(
      files_listed,
      function() vim.api.nvim_feedkeys(vim.keycode('<C-x><C-o>'), 'n', false) end
    )
  end
  -- A bare `@` lists files first, because variables have a sign of their own, `{`.
  local words = base == '@' and vim.list_extend(found, variables.completions(base))
    or vim.list_extend(variables.completions(base), found)
  return { words = words, refresh = 'always' }
end

return M
