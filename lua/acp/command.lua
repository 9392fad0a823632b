--- The three commands. What is wrong with one is one line that names the nearest valid thing.
local M = {}

---@param message string
local function fail(message)
  require('acp.notify').error(message)
end

--- Run a command's body; an error in it is one line, not a traceback.
---@param fn fun(...: any)
---@param ... any
local function guard(fn, ...)
  local ok, why = pcall(fn, ...)
  if not ok then
    fail((tostring(why):gsub('^[^\n]-:%d+: ', ''):match('^[^\n]*')))
  end
end

--- Lines of the current buffer that a command's range stands for, nil without one.
---@param opts { range?: integer, line1?: integer, line2?: integer }
---@return { bufnr: integer, first: integer, last: integer }|nil
local function range_of(opts)
  if not opts.range or opts.range == 0 then
    return nil
  end
  return { bufnr = vim.api.nvim_get_current_buf(), first = opts.line1, last = opts.line2 }
end

---@param opts table
local function prompt(opts)
  local range = range_of(opts)
  local new = opts.bang or nil
  if opts.args:match('^%s*$') then
    require('acp.composer').open({ new = new, range = range })
    return
  end
  local context = require('acp.context')
  local chips = range and { context.chip(range.bufnr, range.first, range.last) } or {}
  local n = require('acp.composer').default()
  local args = context.prompt(opts.args, chips, n)
  args.new = new
  require('acp.history').add(opts.args)
  require('acp.delivery').prompt(n, args)
  require('acp.drafts').recall_soon()
end

--- `:[range]AcpPrompt[!] [text]`. The text is taken as it was typed.
---@param opts table as Neovim gives them to a command
function M.prompt(opts)
  guard(prompt, opts)
end

--- Whether a session has something that a cancel ends.
---@param n integer|nil
---@return boolean
local function at_work(n)
  local state = require('acp.state').get()
  local session = state.sessions[n or state.current] or {}
  return session.status == 'running' or #(session.queue or {}) > 0
end

---@param opts { bang?: boolean, session?: integer }
local function cancel(opts)
  local dropped = opts.bang and require('acp.held').clear()
  local running = require('acp.host').running()
  if dropped and not (running and at_work(opts.session)) then
    require('acp.notify').echo('info', 'the queue is empty now')
  elseif running then
    require('acp.host').notify('cancel', { session = opts.session, clear = opts.bang or false })
  else
    require('acp.notify').echo('info', 'nothing to cancel')
  end
end

--- `:AcpCancel[!]`.
---@param opts { bang?: boolean, session?: integer }
function M.cancel(opts)
  guard(cancel, opts)
end

--- Cancel the turn of one session: the key of its windows.
---@param n integer|nil
function M.cancel_session(n)
  M.cancel({ bang = false, session = n })
end

--- One argument that was typed as several words, an option's id say: whole where such a one is
--- valid.
---@param sub acp.Subcommand
---@param args string[]
---@param rest string
---@return string[]
local function whole(sub, args, rest)
  local several = #args > 1 and sub.max == 1 and sub.values
  rest = vim.trim(rest)
  return several and vim.tbl_contains(sub.values({}, rest), rest) and { rest } or args
end

--- The first argument that is not among those that are valid in its place.
---@param sub acp.Subcommand
---@param name string
---@param args string[]
---@return string|nil mistake
local function check(sub, name, args)
  local max = sub.max or 0
  if max >= 0 and #args > max then
    local takes = max == 0 and 'no argument'
      or ('at most %d argument%s'):format(max, max > 1 and 's' or '')
    return ("%s takes %s, not '%s'"):format(name, takes, args[max + 1])
  end
  if sub.need and #args == 0 then
    return ('%s needs %s'):format(name, sub.need)
  end
  for i, arg in ipairs(sub.strict and args or {}) do
    local valid = sub.values(vim.list_slice(args, 1, i - 1), '')
    if #valid > 0 and not vim.tbl_contains(valid, arg) then
      local noun = (sub.nouns or {})[i] or 'argument of ' .. name
      return require('acp.nearest').message(noun, arg, valid)
    end
  end
end

--- A word of the command line as it is meant: backslashes before spaces and backslashes taken
--- out.
---@param opts table
---@return string[]
local function words(opts)
  return opts.fargs or vim.split(vim.trim(opts.args), '%s+', { trimempty = true })
end

--- All subcommands to choose from.
local function menu()
  local function line(entry)
    return ('%-12s %s'):format(entry[1], entry[2])
  end
  local opts = { prompt = 'Acp', format_item = line }
  vim.ui.select(require('acp.subcommands.about'), opts, function(entry)
    local need = entry and require('acp.subcommands').list[entry[1]].need
    if need then
      vim.ui.input({ prompt = ('Acp %s: %s: '):format(entry[1], need) }, function(text)
        if text and text ~= '' then
          vim.cmd.Acp({ args = { entry[1], text } })
        end
      end)
    elseif entry then
      vim.cmd.Acp(entry[1])
    end
  end)
end

---@param opts table
local function run(opts)
  local args = words(opts)
  local name = table.remove(args, 1)
  local subcommands = require('acp.subcommands')
  if not name then
    menu()
    return
  end
  local sub = subcommands.list[name]
  if not sub then
    fail(require('acp.nearest').message('subcommand', name, subcommands.names()))
    return
  end
  local rest = opts.args:gsub('^%s*%S+%s?', '', 1)
  args = whole(sub, args, rest)
  local mistake = check(sub, name, args)
  if mistake then
    fail(mistake)
    return
  end
  sub.run(args, vim.tbl_extend('force', opts, { rest = rest }))
end

--- `:Acp {subcommand} …`.
---@param opts table as Neovim gives them to a command
function M.run(opts)
  guard(run, opts)
end

return M
