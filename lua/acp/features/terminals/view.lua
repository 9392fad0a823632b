--- Agents' terminals: a buffer for each opened terminal, which the host fills while a window shows
--- it. Each is a Neovim terminal, as wide as its window.
local M = {}

local api = vim.api

---@class acp.TerminalBuffer
---@field n integer session
---@field id string
---@field bufnr integer
---@field channel integer of nvim_open_term
---@field shown boolean

local by_name = {} ---@type table<string, acp.TerminalBuffer>
local by_buffer = {} ---@type table<integer, acp.TerminalBuffer>

local function name_of(n, id) return ('acp://terminal/%d/%s'):format(n, (id:gsub('%c', '?'))) end

---@param terminal acp.TerminalBuffer
local function notify(terminal, verb, args)
  args = vim.tbl_extend('force', { session = terminal.n, id = terminal.id }, args or {})
  if require('acp.base.host').is_running() then require('acp.base.host').notify(verb, args) end
end

--- Notify the host when the first window shows the buffer and when the last one is closed.
---@param terminal acp.TerminalBuffer
---@param fresh? boolean whether the buffer is new and has no output yet
local function report_visibility(terminal, fresh)
  if not api.nvim_buf_is_valid(terminal.bufnr) then return end
  local is_shown = #vim.fn.win_findbuf(terminal.bufnr) > 0
  if is_shown ~= terminal.shown then
    terminal.shown = is_shown
    notify(terminal, 'terminal_view', { what = is_shown and 'shown' or 'hidden', fresh = fresh })
  end
end

---@param terminal acp.TerminalBuffer
local function forget(terminal)
  by_name[name_of(terminal.n, terminal.id)] = nil
  by_buffer[terminal.bufnr] = nil
  notify(terminal, 'terminal_view', { what = 'gone' })
end

---@param terminal acp.TerminalBuffer
local function watch(terminal)
  local function soon()
    vim.schedule(function() report_visibility(terminal) end)
  end
  local name = 'acp.terminal.' .. terminal.bufnr
  local on, group = require('acp.base.autocmds').group(name)
  on({ 'BufWinEnter', 'BufWinLeave', 'BufHidden' }, soon, { buffer = terminal.bufnr })
  on({ 'BufUnload', 'BufWipeout' }, function()
    if by_buffer[terminal.bufnr] == terminal then
      pcall(api.nvim_del_augroup_by_id, group)
      forget(terminal)
    end
  end, { buffer = terminal.bufnr })
end

--- Attach Neovim's terminal emulator to the buffer.
---@param terminal acp.TerminalBuffer
---@param takes_input boolean whether the user's keys reach a program
local function emulate(terminal, takes_input)
  terminal.channel = api.nvim_open_term(terminal.bufnr, {
    force_crlf = false,
    on_input = function(_, _, _, keys)
      if takes_input then notify(terminal, 'terminal_input', { keys = keys }) end
    end,
  })
end

---@return acp.TerminalBuffer
local function create(n, id, takes_input)
  local name = name_of(n, id)
  local old = require('acp.ui.scratch').find(name)
  if old then api.nvim_buf_delete(old, { force = true }) end
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(bufnr, name)
  local terminal = { n = n, id = id, bufnr = bufnr, shown = false }
  emulate(terminal, takes_input)
  require('acp.ui.scratch').set_options(bufnr, {
    bufhidden = 'hide',
    buflisted = false,
    swapfile = false,
    modeline = false,
    filetype = 'acpterminal',
  })
  by_name[name], by_buffer[bufnr] = terminal, terminal
  require('acp.ui.keymaps').attach('terminal', bufnr, n)
  watch(terminal)
  return terminal
end

--- Return the winbar: the command and the keys.
---@param terminal acp.TerminalBuffer
local function bar(terminal, takes_input)
  local session = require('acp.base.state').get().sessions[terminal.n] or {}
  local known = vim
    .iter(session.terminals or {})
    :find(function(known) return known.id == terminal.id end)
  local notify_of = require('acp.base.notify')
  local command = notify_of.cut(notify_of.one_line(known and known.command or terminal.id), 80)
  local is_running = takes_input and not (known and known.running == false)
  local words = { stop = is_running and 'stops' or nil, close = 'closes', help = 'keys' }
  local keys = require('acp.ui.keymaps').words('terminal', words)
  local literal = require('acp.ui.win').literal
  return (' %s %%= %s '):format(literal(command), literal(keys))
end

--- Move the cursor to the last line, so that Neovim keeps the window at the end of the terminal.
--- Redraw first, since the terminal gets the height of its window only when that is drawn.
local function go_to_end(win)
  vim.cmd.redraw()
  local bufnr = api.nvim_win_get_buf(win)
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(bufnr), 0 })
end

--- Frame operation: show a terminal at its end, in a window at the bottom unless one of this tab
--- page shows it, and go there.
---@param n integer session
---@param id string
---@param takes_input boolean whether the user's keys reach a program
function M.open(n, id, takes_input)
  local terminal = by_name[name_of(n, id)]
  local is_new = terminal == nil
  terminal = terminal or create(n, id, takes_input)
  local win = require('acp.ui.window').show(terminal.bufnr, {
    layout = 'bottom',
    size = 0.4,
    enter = api.nvim_get_mode().mode == 'n',
    options = { winbar = bar(terminal, takes_input) },
  })
  if win then go_to_end(win) end
  report_visibility(terminal, is_new)
end

--- Frame operation: write output to a terminal.
---@param id string
function M.write(n, id, text)
  local terminal = by_name[name_of(n, id)]
  if terminal and api.nvim_buf_is_valid(terminal.bufnr) then
    api.nvim_chan_send(terminal.channel, text)
  end
end

--- Stop the program in a terminal buffer.
function M.stop(bufnr)
  local terminal = by_buffer[bufnr]
  if terminal then notify(terminal, 'terminal_stop') end
end

---@class acp.TerminalItem
---@field session integer
---@field id string
---@field label string

--- Frame operation: let the user choose a terminal, and open it.
---@param items acp.TerminalItem[]
function M.pick(items)
  local labels = vim.tbl_map(function(item) return item.label end, items)
  require('acp.ui.pick').choose('Terminals', 'terminals', labels, function(index)
    local item = items[index]
    require('acp.base.host').notify('terminal_open', { session = item.session, id = item.id })
  end)
end

return M
