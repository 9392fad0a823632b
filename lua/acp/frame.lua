--- Frames: batches of operations that the host sends in one request.
require('acp.wiring')

local M = {}

--- Operation -> module and function. A module is loaded by its first operation.
---@type table<string, {[1]: string, [2]: string}>
M.ops = {
  state = { 'acp.base.state', 'set' },
  calls = { 'acp.base.state', 'set_calls' },
  chat = { 'acp.features.chat.view', 'replace' },
  text = { 'acp.features.chat.view', 'append' },
  reset_chat = { 'acp.features.chat.view', 'reset' },
  folds = { 'acp.features.chat.view', 'folds' },
  gather = { 'acp.features.chat.view', 'gather' },
  ungather = { 'acp.features.chat.view', 'ungather' },
  fold_open = { 'acp.features.chat.view', 'fold_open' },
  chat_turn = { 'acp.features.chat.cursor_target', 'to_turn' },
  open_chat = { 'acp.features.chat.view', 'open' },
  session = { 'acp.features.chat.view', 'begin' },
  attached = { 'acp.features.prompts.attachments', 'add' },
  open_file = { 'acp.features.prompts.attachments', 'open' },
  extension = { 'acp.features.extensions.handlers', 'notified' },
  extension_answer = { 'acp.features.extensions.requests', 'answered' },
  echo = { 'acp.base.notify', 'echo' },
  plan = { 'acp.features.plan.view', 'set' },
  cards = { 'acp.features.permissions.float', 'set' },
  cards_more = { 'acp.features.permissions.float', 'set_more' },
  composer = { 'acp.features.prompts.composer', 'give_back' },
  composer_moves = { 'acp.features.prompts.composer', 'move' },
  prompts = { 'acp.features.prompts.earlier_prompts', 'told' },
  forget_prompts = { 'acp.features.prompts.earlier_prompts', 'forget' },
  reply = { 'acp.base.host.replies', 'answered' },
  taken = { 'acp.features.prompts.delivery', 'taken' },
  under_way = { 'acp.features.sessions.restore', 'under_way' },
  remark = { 'acp.features.review.comment', 'understood' },
  remarked = { 'acp.features.review.comment', 'gone' },
  noted = { 'acp.features.review.comment', 'noted' },
  show = { 'acp.ui.report', 'open' },
  select = { 'acp.ui.pick', 'select' },
  input = { 'acp.ui.pick', 'input' },
  secret = { 'acp.ui.pick', 'secret' },
  login = { 'acp.features.login.terminal', 'open' },
  form = { 'acp.features.forms.view', 'open' },
  form_problems = { 'acp.features.forms.view', 'problems' },
  form_review = { 'acp.features.forms.view', 'review' },
  form_closed = { 'acp.features.forms.view', 'closed' },
  open_url = { 'acp.ui.jump', 'browse' },
  terminal = { 'acp.features.terminals.view', 'write' },
  terminal_open = { 'acp.features.terminals.view', 'open' },
  terminals = { 'acp.features.terminals.view', 'pick' },
  hunks = { 'acp.features.review.inline', 'set' },
  blame = { 'acp.features.blame.view', 'set' },
  next_hunk = { 'acp.features.review.hunk', 'jumped' },
  review = { 'acp.features.review.actions', 'open' },
  compare = { 'acp.features.review.comparison', 'open' },
  propose = { 'acp.features.review.proposal', 'open' },
  propose_marks = { 'acp.features.review.proposal', 'marked' },
  quickfix = { 'acp.features.review.list', 'quickfix' },
  location = { 'acp.features.follow.window', 'show' },
  pending = { 'acp.buffers.watch', 'pending' },
  follow_journal = { 'acp.base.workspaces', 'follow' },
}

local functions = {}

local function resolve(name)
  local op = M.ops[name]
  if not op then error('acp: unknown frame operation ' .. tostring(name)) end
  functions[name] = require(op[1])[op[2]]
  return functions[name]
end

functions.event = require('acp.base.events').fire

functions.happened = require('acp.base.events').fire_all

--- Apply one frame.
---@param ops any[][] each `{name, ...}`
---@return {us: integer, errors: string[]} duration, and the errors of operations that failed
function M.apply(ops)
  local started = vim.uv.hrtime()
  local errors = {}
  local changed = false
  for _, op in ipairs(ops) do
    local name = op[1]
    changed = changed or name == 'state' or name == 'calls'
    local ok, err = pcall(functions[name] or resolve(name), unpack(op, 2))
    if not ok then errors[#errors + 1] = ('%s: %s'):format(name, err) end
  end
  if changed then require('acp.base.state').changed() end
  return { us = math.floor((vim.uv.hrtime() - started) / 1000), errors = errors }
end

return M
