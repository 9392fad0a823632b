--- Frames: batches of operations that the host sends in one request.
require('acp.wiring')

local M = {}

--- Operation -> module and function. A module is loaded by its first operation.
---@type table<string, {[1]: string, [2]: string}>
M.ops = {
  state = { 'acp.base.state', 'set' },
  calls = { 'acp.base.state', 'set_calls' },
  chat = { 'acp.ui.chat', 'replace' },
  text = { 'acp.ui.chat', 'append' },
  reset_chat = { 'acp.ui.chat', 'reset' },
  folds = { 'acp.ui.chat', 'folds' },
  gather = { 'acp.ui.chat', 'gather' },
  ungather = { 'acp.ui.chat', 'ungather' },
  fold_open = { 'acp.ui.chat', 'fold_open' },
  chat_turn = { 'acp.ui.chat.cursor_target', 'to_turn' },
  open_chat = { 'acp.ui.chat', 'open' },
  session = { 'acp.ui.chat', 'begin' },
  attached = { 'acp.ui.attachments', 'add' },
  open_file = { 'acp.ui.attachments', 'open' },
  extension = { 'acp.base.extensions', 'notified' },
  extension_answer = { 'acp.base.extension_requests', 'answered' },
  echo = { 'acp.base.notify', 'echo' },
  plan = { 'acp.ui.plan', 'set' },
  cards = { 'acp.ui.question', 'set' },
  cards_more = { 'acp.ui.question', 'set_more' },
  composer = { 'acp.ui.composer', 'give_back' },
  composer_moves = { 'acp.ui.composer', 'move' },
  prompts = { 'acp.ui.composer.history', 'told' },
  forget_prompts = { 'acp.ui.composer.history', 'forget' },
  reply = { 'acp.base.replies', 'answered' },
  taken = { 'acp.ui.composer.delivery', 'taken' },
  under_way = { 'acp.command.session_restore', 'under_way' },
  remark = { 'acp.review.comment', 'understood' },
  remarked = { 'acp.review.comment', 'gone' },
  noted = { 'acp.review.comment', 'noted' },
  show = { 'acp.ui.report', 'open' },
  select = { 'acp.ui.pick', 'select' },
  input = { 'acp.ui.pick', 'input' },
  secret = { 'acp.ui.pick', 'secret' },
  login = { 'acp.ui.login', 'open' },
  form = { 'acp.ui.form', 'open' },
  form_problems = { 'acp.ui.form', 'problems' },
  form_review = { 'acp.ui.form', 'review' },
  form_closed = { 'acp.ui.form', 'closed' },
  open_url = { 'acp.ui.jump', 'browse' },
  terminal = { 'acp.ui.terminal', 'write' },
  terminal_open = { 'acp.ui.terminal', 'open' },
  terminals = { 'acp.ui.terminal', 'pick' },
  hunks = { 'acp.review.inline', 'set' },
  blame = { 'acp.review.blame', 'set' },
  next_hunk = { 'acp.review.hunk', 'jumped' },
  review = { 'acp.review', 'open' },
  compare = { 'acp.review.comparison', 'open' },
  propose = { 'acp.review.proposal', 'open' },
  propose_marks = { 'acp.review.proposal', 'marked' },
  quickfix = { 'acp.review.list', 'quickfix' },
  location = { 'acp.ui.follow', 'show' },
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
