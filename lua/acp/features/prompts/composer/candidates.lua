--- Completions of the word before the cursor in a composer: `/command`, `@file`, `@symbol`,
--- `{variable}` and `#prompt`. 'omnifunc' and the language server `acp` both show these.
local M = {}

local notify, valid_names = require('acp.base.notify'), require('acp.base.valid_names')
local paths_of, places = require('acp.base.paths'), require('acp.base.places')
local files = require('acp.features.prompts.composer.files')

local MOST, MOST_SYMBOLS = 200, 20
local HINT, ABOUT = 20, 50 -- cells in the menu for a command's argument and for a description
local LABEL = 60 -- cells of a name; completion plugins cut longer ones at the end

---@class acp.Candidate
---@field kind 'command'|'file'|'folder'|'variable'|'prompt'|'symbol'
---@field name string of the command, variable or prompt; path of the file or folder
---@field word string text to insert
---@field label string text to show; of a command with its argument
---@field about? string description on one line
---@field text? string of a prompt; the whole description of a command
---@field symbol? acp.Symbol

--- Return the kind of the word at the end of a line. A command is the first word of the prompt's
--- first line.
---@param line string up to the cursor
---@param row integer 1-based
---@return 'command'|'mention'|'prompt'|nil kind
---@return integer col 0-based start of the word
function M.word(line, row)
  line = paths_of.hide_quoted(line) -- an escaped blank is part of a name
  local mention = line:match('.*%s()@%S*$') or line:match('^()@%S*$')
  if mention then return 'mention', mention - 1 end
  local variable = line:match('.*()%{[%l:|]*$')
  if variable then return 'mention', variable - 1 end
  local prompt = line:match('.*%s()#[%w_.-]*$') or line:match('^()#[%w_.-]*$')
  if prompt then return 'prompt', prompt - 1 end
  if row == 1 and line:match('^%s*/%S*$') then return 'command', #line:match('^%s*') end
  return nil, -3
end

--- Return the number of a composer.
---@return integer|nil
function M.composer(bufnr)
  return tonumber(vim.api.nvim_buf_get_name(bufnr):match('^acp://composer/(%d+)$'))
end

--- Return a text with unprintable characters spelled out.
---@param text string|nil
---@return string
function M.legible(text)
  local lines = vim.split(text or '', '\r?\n')
  return table.concat(vim.tbl_map(notify.one_line, lines), '\n')
end

--- Return the first line of a text, short enough for a menu.
---@param text string|nil
local function first_line(text)
  return notify.cut(notify.one_line((text or ''):match('^[^\r\n]*')), ABOUT)
end

--- Return the commands of the agent of session `n`.
---@param n integer|nil
---@return { name: string, description?: string, hint?: string }[]
function M.session_commands(n)
  local session = require('acp.base.state').get().sessions[n or -1]
  return session and session.commands or {}
end

--- Return the prompts that can be inserted, with the texts of their previews.
---@return table<string, string> text by name
function M.prompt_texts()
  local texts = {}
  for _, prompt in ipairs(require('acp.base.signals').emit('prompts_wanted') or {}) do
    texts[prompt.name] = prompt.text
  end
  return texts
end

--- Return the matching candidates, in the order of `names`.
---@param by_name table<string, acp.Candidate>
---@param names string[]
---@param base string with its sign
local function chosen(by_name, names, base)
  local function of(name) return by_name[name] end
  return vim.tbl_map(of, valid_names.matching(names, base:sub(2)))
end

--- Return the matching commands. Names that cannot be typed are left out.
---@param base string including the `/`
---@param n integer|nil
local function commands(base, n)
  local by_name, names = {}, {}
  for _, command in ipairs(M.session_commands(n)) do
    local name = command.name
    if M.legible(name) == name and not name:find('%s') then
      names[#names + 1] = name
      local hint = notify.one_line(command.hint or '')
      by_name[name] = {
        kind = 'command',
        name = name,
        word = '/' .. name .. (command.hint and ' ' or ''),
        label = '/' .. name .. (hint ~= '' and ' ' .. notify.cut(hint, HINT) or ''),
        about = first_line(command.description),
        text = command.description,
      }
    end
  end
  return chosen(by_name, names, base)
end

--- Return the matching prompts from the library.
---@param base string including the `#`
local function prompts(base)
  local by_name, texts = {}, M.prompt_texts()
  for name, text in pairs(texts) do
    local word = '#' .. name
    by_name[name] = {
      kind = 'prompt',
      name = name,
      word = word,
      label = notify.cut_middle(word, LABEL),
      about = first_line(text),
      text = text,
    }
  end
  return chosen(by_name, require('acp.base.sorted_keys')(texts), base)
end

---@param base string from its `{` or `@{`
local function variables(base)
  local listed = require('acp.features.prompts.composer.variables').completions(base)
  return vim.tbl_map(
    function(variable)
      return {
        kind = 'variable',
        name = variable.name,
        word = variable.word,
        label = variable.word,
        about = variable.about,
      }
    end,
    listed
  )
end

---@param path string relative to the current directory
---@return acp.Candidate
local function file(path)
  return {
    kind = path:sub(-1) == '/' and 'folder' or 'file',
    name = path,
    word = '@' .. paths_of.quote_mention(path),
    label = notify.cut_middle('@' .. paths_of.on_one_line(path), LABEL),
  }
end

---@param symbol acp.Symbol
---@return acp.Candidate
local function of_symbol(symbol)
  local below = vim.startswith(symbol.path, places.cwd() .. '/')
  local path = below and symbol.path:sub(#places.cwd() + 2) or symbol.path
  local lines = symbol.first == symbol.last and symbol.first or symbol.first .. '-' .. symbol.last
  return {
    kind = 'symbol',
    name = symbol.name,
    word = ('@%s:%s'):format(paths_of.quote_mention(path), lines),
    label = '@' .. notify.one_line(symbol.name),
    about = paths_of.on_one_line(('%s:%s'):format(path, lines)),
    symbol = symbol,
  }
end

--- Return the files, folders and symbols that match.
---@param base string including the `@`
---@param rest fun()
local function mentions(base, rest)
  local lead = paths_of.unquote(base:sub(2))
  local used, others = files.search(places.cwd(), lead, MOST, rest)
  local matching = vim.tbl_map(file, used)
  if lead ~= '' then
    local symbols = require('acp.features.prompts.composer.symbols').known(lead)
    vim.list_extend(matching, vim.tbl_map(of_symbol, vim.list_slice(symbols, 1, MOST_SYMBOLS)))
  end
  return vim.list_extend(matching, vim.tbl_map(file, vim.list_slice(others, 1, MOST - #used)))
end

--- Look for symbols that match a word, so that `list` contains them.
---@param base string including the `@`
---@param done fun() called once they are known
function M.look_for_symbols(base, done)
  local query = base:match('^@([^%s{/\\]*)$')
  if not query then return done() end
  require('acp.features.prompts.composer.symbols').look(query, done)
end

--- Return the candidates for a word, the best first.
---@param base string with its sign: `/`, `@`, `{` or `#`
---@param n integer|nil composer
---@param rest fun() called between the steps of a long search
---@return acp.Candidate[]
function M.list(base, n, rest)
  local sign = base:sub(1, 1)
  if sign == '/' then return commands(base, n) end
  if sign == '#' then return prompts(base) end
  if sign == '{' then return variables(base) end
  if sign ~= '@' then return {} end
  local listed = mentions(base, rest)
  -- A bare `@` lists files first, because `{` lists variables.
  if base == '@' then return vim.list_extend(listed, variables(base)) end
  return vim.list_extend(variables(base), listed)
end

--- Return whether the candidates for a word can be listed now.
---@param base string with its sign
---@param n integer|nil composer
---@return boolean
function M.is_known(base, n)
  if base:sub(1, 1) == '/' then return #M.session_commands(n) > 0 end
  if base:sub(1, 1) == '@' then return (select(2, files.list(places.cwd()))) end
  return true
end

--- Call `fn` once the candidates for a word can be listed: the agent has sent its commands, or the
--- files are listed.
---@param base string with its sign
---@param n integer|nil composer
---@param fn fun()
---@return fun() cancel
function M.when_known(base, n, fn)
  local is_over = false
  local function go()
    if not is_over then fn() end
    is_over = true
  end
  if M.is_known(base, n) then
    go()
  elseif base:sub(1, 1) == '@' then
    files.when_ready(places.cwd(), go)
  else
    vim.api.nvim_create_autocmd('User', {
      pattern = 'AcpState',
      callback = function()
        if M.is_known(base, n) then go() end
        return is_over
      end,
    })
  end
  return function() is_over = true end
end

return M
