--- `:Acp {subcommand}`. An error is one line that suggests the nearest valid name.
local M = {}

local features, guard = require('acp.features'), require('acp.base.guard')
local valid_names = require('acp.base.valid_names')
local messages, paths = require('acp.base.messages'), require('acp.base.paths')

local function fail(message) require('acp.base.notify').error(message) end

--- Return the arguments of a subcommand. An argument with blanks, such as an option's id, needs no
--- backslashes if it is one of the valid values.
---@param sub acp.Subcommand
---@param words string[] without backslashes before blanks
---@param rest string the words as typed
---@return string[]
local function arguments(sub, words, rest)
  local args = sub.paths and paths.words(rest) or words
  if #args < 2 or sub.max ~= 1 or not sub.values then return args end
  local whole = vim.trim(rest)
  if sub.paths then whole = paths.quote_argument(whole) end
  return vim.tbl_contains(sub.values({}, whole), whole) and { whole } or args
end

--- Check the number of arguments and their values. Return a message about the first mistake.
---@param sub acp.Subcommand
---@return string|nil mistake
local function check(sub, name, args)
  local max = sub.max or 0
  if max >= 0 and #args > max then
    local extra = args[max + 1]
    if max == 0 then return messages.takes_no_argument:format(name, extra) end
    if max == 1 then return messages.takes_one_argument:format(name, extra) end
    return messages.takes_arguments:format(name, max, extra)
  end
  for i, arg in ipairs(sub.strict and args or {}) do
    local valid = sub.values(vim.list_slice(args, 1, i - 1), '')
    if #valid > 0 and not vim.tbl_contains(valid, arg) then
      local noun = (sub.nouns or {})[i] or 'argument of :Acp ' .. name
      local where = messages.see_subcommand:format(sub.list or name)
      return require('acp.base.text.nearest').message(noun, arg, valid, where)
    end
  end
end

--- Return the words of the command line, without the backslashes before blanks and backslashes.
local function words(opts)
  return opts.fargs or vim.split(vim.trim(opts.args), '%s+', { trimempty = true })
end

--- Return the arguments of a subcommand as typed.
---@return string
local function rest_of(opts) return (opts.args:gsub('^%s*%S+%s?', '', 1)) end

--- Return whether a bar ends the arguments. In free text it is a character.
---@param sub acp.Subcommand
local function ends_at_bar(sub) return sub.max ~= -1 or sub.paths == true end

--- Return whether an argument with a bar is one of the valid values.
---@param sub acp.Subcommand
---@param opts table
local function has_bar_in_value(sub, opts)
  if not sub.values or sub.paths then return false end
  local args = arguments(sub, vim.list_slice(words(opts), 2), rest_of(opts))
  return vim.iter(ipairs(args)):any(function(i, arg)
    local before = vim.list_slice(args, 1, i - 1)
    return arg:find('|', 1, true) ~= nil and vim.tbl_contains(sub.values(before, arg), arg)
  end)
end

--- Return the position of the bar that ends the arguments. After an argument it is a word of its
--- own: an argument may be a value of the agent, which must not run a command.
---@param sub acp.Subcommand|nil nil for the menu
---@return integer|nil
local function find_bar(sub, opts)
  local masked = paths.hide_quoted(opts.args) .. ' '
  local after_name = masked:match('^%s*[^%s|]*()|')
  if after_name or not sub or (sub.max or 0) == 0 then return after_name or masked:match('()|') end
  return vim.tbl_contains(words(opts), '|') and masked:match('%s()|%s') or nil
end

--- Return the arguments of a command before a bar, and the commands after it (|:bar|).
---@param opts table
---@return table opts
---@return string|nil next_commands
local function split_at_bar(opts)
  if not opts.args:find('|', 1, true) then return opts end
  local name = opts.args:match('^%s*([^%s|]*)'):gsub('!$', '')
  local sub = features.subcommand(name)
  local is_literal = sub and (not ends_at_bar(sub) or has_bar_in_value(sub, opts))
  if is_literal or (not sub and name ~= '') then return opts end
  local bar = find_bar(sub, opts)
  if not bar and not opts.args:find('\\|', 1, true) then return opts end
  local args = vim.trim(opts.args:sub(1, bar and bar - 1))
  if not (sub and sub.paths) then args = args:gsub('\\|', '|') end
  local function unquote(word) return (word:gsub('\\([ \\])', '%1')) end
  local fargs = vim.tbl_map(unquote, paths.words(args))
  local next_commands = bar and opts.args:sub(bar + 1)
  return vim.tbl_extend('force', opts, { args = args, fargs = fargs }), next_commands
end

--- Groups of the menu in their order.
local GROUPS = { 'Talk', 'Decide', 'Review', 'Sessions', 'Help' }

--- Return the current states that `acp.MenuEntry` names, with their ranks; 1 is the most urgent.
---@return table<string, integer>
local function states()
  local state = require('acp.base.state')
  local present, sessions = {}, state.get().sessions
  if #state.get().elicitations > 0 then present.asked = 1 end
  for _, session in pairs(sessions) do
    for _, list in ipairs({ 'permissions', 'elicitations', 'questions' }) do
      if #(session[list] or {}) > 0 then present.asked = 1 end
    end
    if session.status == 'running' then
      present.running = 3
    elseif #(session.queue or {}) > 0 then
      present.waits = 4
    end
  end
  if #state.edits() > 0 then present.edits = 2 end
  return present
end

---@class acp.MenuRow
---@field [1] string subcommand
---@field [2] string description
---@field group string
---@field rank integer

--- Return all subcommands in two groups: the ones that apply now, then the others.
---@return acp.MenuRow[]
local function rows()
  local list, now = {}, states()
  for name, entry in pairs(features.menu()) do
    local urgency, group = now[entry.applies], entry[2]
    local rank = urgency or 10 + vim.fn.index(GROUPS, group)
    local row = { name, entry[1], group = urgency and 'Now' or group, rank = rank * 100 + entry[3] }
    list[#list + 1] = row
  end
  table.sort(list, function(a, b) return a.rank < b.rank end)
  return list
end

--- Let the user choose a subcommand.
local function menu()
  local function line(row) return ('%-9s %-12s %s'):format(row.group, row[1], row[2]) end
  local heading = require('acp.ui.pick').heading(messages.pick_subcommand)
  local opts = { prompt = heading, format_item = line }
  vim.ui.select(rows(), opts, function(row)
    if row then vim.cmd.Acp(row[1]) end
  end)
end

--- Run a subcommand, or open the menu.
---@param opts table
---@return boolean|nil has_run
local function run_subcommand(opts)
  local args = words(opts)
  local name = table.remove(args, 1)
  if not name then
    menu()
    return true
  end
  local plain = name:match('^(.+)!$')
  if plain and features.subcommand(plain) then
    name, opts = plain, vim.tbl_extend('force', opts, { bang = true })
  end
  local sub = features.subcommand(name)
  if not sub then
    local names = features.names('subcommands')
    return fail(
      require('acp.base.text.nearest').message('subcommand', name, names, messages.all_subcommands)
    )
  end
  if opts.bang and not sub.bang then return fail(messages.takes_no_bang:format(name)) end
  local rest = rest_of(opts)
  args = arguments(sub, args, rest)
  local mistake = check(sub, name, args)
  if mistake then return fail(mistake) end
  sub.run(args, vim.tbl_extend('force', opts, { rest = rest }))
  return true
end

local function run(opts)
  local own_opts, next_commands = split_at_bar(opts)
  if run_subcommand(own_opts) and next_commands then vim.cmd(next_commands) end
end

--- `:Acp {subcommand} …`.
---@param opts table arguments of a user command
function M.run(opts) guard(run, opts) end

--- Complete `:Acp` (|command-completion-customlist|) from tables and caches, without blocking.
---@param lead string
---@param pos integer
---@return string[]
function M.complete(lead, line, pos)
  local before = paths.words((line:sub(1, pos - #lead):gsub('^.-Acp!?%s+', '', 1)))
  local name = table.remove(before, 1)
  if not name then return valid_names.matching(features.names('subcommands'), lead) end
  local sub = features.subcommand(name) or features.subcommand(name:match('^(.+)!$'))
  local max = sub and sub.max or 0
  if not sub or not sub.values or (max >= 0 and #before >= max) then return {} end
  if sub.paths then return valid_names.matching(sub.values(before, lead), lead) end
  local plain = lead:gsub('\\ ', ' ')
  local values = valid_names.matching(sub.values(before, plain), plain)
  local quoted = ends_at_bar(sub) and '([ \\|])' or '([ \\])'
  return vim.tbl_map(function(value) return (value:gsub(quoted, '\\%1')) end, values)
end

return M
