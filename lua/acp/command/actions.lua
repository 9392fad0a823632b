--- Functions of the keys of acp windows, by window and action.
--- `acp.base.settings.actions` describes them.
local M = {}

--- Return an action that calls a function of a module with these arguments and the session's
--- number.
---@param module string
---@param ... any
---@return fun(bufnr: integer, n: integer|nil)
local function call(module, name, ...)
  local first = { ... }
  return function(_, n)
    local args = vim.list_extend({}, first)
    args[#args + 1] = n
    return require(module)[name](unpack(args))
  end
end

---@param module string
---@return fun(bufnr: integer)
local function on_buffer(module, name)
  return function(bufnr) require(module)[name](bufnr) end
end

--- Return an action that calls a function of a module with a number of steps, multiplied by the
--- count of the key, as in `3]f`.
---@param module string
---@param steps 1|-1
local function step(module, name, steps)
  return function() require(module)[name](steps * vim.v.count1) end
end

---@param arg? any
local function review(name, arg)
  return function() require('acp.features.review.actions')[name](arg) end
end

local cancel = call('acp.features.prompts.commands', 'cancel_session')

local function close() require('acp.ui.window').close(vim.api.nvim_get_current_win()) end

--- Close a window that the user writes in, unless that would discard changes.
local function close_written(bufnr)
  if vim.bo[bufnr].modified and vim.bo[bufnr].bufhidden == 'wipe' then
    require('acp.base.notify').echo('warn', require('acp.base.messages').not_applied)
  else
    close()
  end
end

local function write()
  vim.cmd.stopinsert()
  vim.cmd.write()
end

---@type table<string, table<string, fun(bufnr: integer, n: integer|nil)>>
M.list = {
  composer = {
    send = call('acp.features.prompts.composer', 'send'),
    send_now = call('acp.features.prompts.composer', 'send_now'),
    finish = call('acp.features.prompts.composer', 'finish'),
    complete = function() vim.api.nvim_feedkeys(vim.keycode('<C-x><C-o>'), 'ni', false) end,
    cancel = cancel,
    earlier = call('acp.features.prompts.composer', 'browse', 1),
    later = call('acp.features.prompts.composer', 'browse', -1),
    search = call('acp.features.prompts.composer', 'search'),
  },
  suggestion = {
    take = function(bufnr) require('acp.features.prompts.composer').take_suggestion(bufnr) end,
  },
  chat = {
    act = call('acp.features.chat.cursor_target', 'act'),
    compose = call('acp.features.prompts.composer', 'open_insert'),
    next_turn = call('acp.features.chat.cursor_target', 'go', 1),
    previous_turn = call('acp.features.chat.cursor_target', 'go', -1),
    cancel = cancel,
    stop = call('acp.features.chat.cursor_target', 'stop'),
    close = close,
  },
  permission = {
    open = call('acp.features.permissions.decide', 'open'),
    review = call('acp.features.permissions.decide', 'review'),
    close = close,
  },
  edits = {
    next_hunk = step('acp.features.review.hunk', 'jump', 1),
    previous_hunk = step('acp.features.review.hunk', 'jump', -1),
  },
  blame = { open = on_buffer('acp.features.blame.view', 'open') },
  form = {
    choose = call('acp.features.forms.view', 'choose'),
    review = write,
    close = close_written,
  },
  queue = { apply = write, close = close_written },
  checkpoints = { close = close },
  view = { close = on_buffer('acp.ui.report', 'close') },
  terminal = { close = close, stop = on_buffer('acp.features.terminals.view', 'stop') },
}

for _, kind in ipairs({ 'allow_once', 'allow_always', 'reject_once', 'reject_always' }) do
  M.list.permission[kind] = call('acp.features.permissions.decide', 'kind', kind)
end

for _, window in ipairs({ 'composer', 'chat', 'view' }) do
  M.list[window].open_file = call('acp.features.chat.cursor_target', 'open_file', false)
  M.list[window].open_file_at_line = call('acp.features.chat.cursor_target', 'open_file', true)
end

for i = 1, 9 do
  M.list.permission['option_' .. i] = call('acp.features.permissions.decide', 'option', i)
end

for _, name in ipairs({ 'changes', 'restore', 'restore_all', 'undo', 'refresh' }) do
  M.list.checkpoints[name] = on_buffer('acp.features.checkpoints.list', name)
end

for _, verb in ipairs({ 'accept', 'reject' }) do
  M.list.edits[verb .. '_hunk'] = function()
    require('acp.features.review.hunk').decide(verb, 'hunk')
  end
end

-- Keys of both sides of the review and of its list of files.
local files = {
  next_file = step('acp.features.review.actions', 'go', 1),
  previous_file = step('acp.features.review.actions', 'go', -1),
  accept_file = review('decide', 'accept'),
  reject_file = review('decide', 'reject'),
  close = review('close'),
}
M.list.review = vim.tbl_extend('error', { obtain = review('obtain'), put = review('put') }, files)
M.list.review_files = vim.tbl_extend('error', { open = review('pick') }, files)

for window, list in pairs(M.list) do
  list.help = function()
    local shown = window:find('^review') and require('acp.features.review.tab').state()
    require('acp.ui.help').open(window, shown and shown.source.words)
  end
end

return M
