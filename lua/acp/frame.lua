--- Frames: all changes since the last one, applied in one request of the host.
local M = {}

--- Operation -> module and function; modules load when their first operation comes.
---@type table<string, {[1]: string, [2]: string}>
M.ops = {
  state = { 'acp.state', 'set' },
  calls = { 'acp.state', 'set_calls' },
  chat = { 'acp.chat', 'replace' },
  text = { 'acp.chat', 'append' },
  reset_chat = { 'acp.chat', 'reset' },
  folds = { 'acp.chat', 'folds' },
  fold_open = { 'acp.chat', 'fold_open' },
  open_chat = { 'acp.chat', 'open' },
  session = { 'acp.chat', 'begin' },
  attached = { 'acp.media', 'add' },
  open_file = { 'acp.media', 'open' },
  extension = { 'acp.extensions', 'notified' },
  echo = { 'acp.notify', 'echo' },
  plan = { 'acp.plan', 'set' },
  cards = { 'acp.permission', 'set' },
  cards_more = { 'acp.permission', 'set_more' },
  composer = { 'acp.composer', 'give_back' },
  taken = { 'acp.delivery', 'taken' },
  under_way = { 'acp.past', 'under_way' },
  remark = { 'acp.review.comment', 'understood' },
  remarked = { 'acp.review.comment', 'gone' },
  noted = { 'acp.review.comment', 'noted' },
  show = { 'acp.show', 'open' },
  select = { 'acp.pick', 'select' },
  input = { 'acp.pick', 'input' },
  login = { 'acp.login', 'open' },
  form = { 'acp.form', 'open' },
  form_problems = { 'acp.form', 'problems' },
  form_review = { 'acp.form', 'review' },
  form_closed = { 'acp.form', 'closed' },
  open_url = { 'acp.consent', 'open' },
  goto_file = { 'acp.jump', 'to' },
  terminal = { 'acp.terminal', 'write' },
  terminal_open = { 'acp.terminal', 'open' },
  terminals = { 'acp.terminal', 'pick' },
  hunks = { 'acp.review.inline', 'set' },
  next_hunk = { 'acp.review.inline', 'jumped' },
  review = { 'acp.review', 'open' },
  base = { 'acp.review', 'base' },
  propose = { 'acp.review.proposal', 'open' },
  quickfix = { 'acp.review.list', 'quickfix' },
  location = { 'acp.follow', 'show' },
  pending = { 'acp.watch', 'pending' },
}

local functions = {}

local function resolve(name)
  local op = M.ops[name]
  if not op then
    error('acp: unknown frame operation ' .. tostring(name))
  end
  functions[name] = require(op[1])[op[2]]
  return functions[name]
end

--- Whether a handler's pattern takes an event: plain names are compared, anything else may match.
local function takes(pattern, name)
  return pattern == name or pattern:find('[^%w_]') ~= nil
end

--- Whether anybody listens. To look costs more than one event to nobody, and less than many.
local function listened(name)
  for _, handler in ipairs(vim.api.nvim_get_autocmds({ event = 'User' })) do
    if takes(handler.pattern, name) then
      return true
    end
  end
  return false
end

--- A `User` autocommand; a handler's error is the user's to see, and must not lose the rest of
--- the frame.
local function fire(name, data)
  local ok, err = pcall(vim.api.nvim_exec_autocmds, 'User', {
    pattern = name,
    data = data,
    modeline = false,
  })
  if not ok then
    require('acp.notify').echo('error', ('%s handler: %s'):format(name, err))
  end
end
functions.event = fire

--- Many tool calls may change in one frame: tables are made for those who listen.
---@param n integer
---@param calls string[] id and status of each, one after the other
function functions.called(n, calls)
  if listened('AcpToolCall') then
    for i = 1, #calls, 2 do
      fire('AcpToolCall', { session = n, id = calls[i], status = calls[i + 1] })
    end
  end
end

--- Apply one frame.
---@param ops any[][] each `{name, ...}`
---@return {us: integer, errors: string[]} time taken, and what failed (the rest was applied)
function M.apply(ops)
  local started = vim.uv.hrtime()
  local errors = {}
  local changed = false
  for _, op in ipairs(ops) do
    local name = op[1]
    changed = changed or name == 'state' or name == 'calls'
    local ok, err = pcall(functions[name] or resolve(name), unpack(op, 2))
    if not ok then
      errors[#errors + 1] = ('%s: %s'):format(name, err)
    end
  end
  if changed then
    require('acp.state').changed()
  end
  return { us = math.floor((vim.uv.hrtime() - started) / 1000), errors = errors }
end

return M
