--- What the keys of our windows run, by window and action (`acp.base.actions` says what each is).
local M = {}

---@param ... any arguments that stand before the session's number
---@return fun(bufnr: integer, n: integer|nil)
local function call(module, name, ...)
  local first = { ... }
  return function(_, n)
    local args = vim.list_extend({}, first)
    args[#args + 1] = n
    return require(module)[name](unpack(args))
  end
end

---@return fun(bufnr: integer)
local function on_buffer(module, name)
  return function(bufnr)
    require(module)[name](bufnr)
  end
end

local function hunk(name)
  return function()
    require('acp.review.hunk').decide(name, 'hunk')
  end
end

--- Steps in the review count: `3]f`.
local function review(name, arg)
  return function()
    local steps = name == 'go' and arg * vim.v.count1 or arg
    require('acp.review')[name](steps)
  end
end

local cancel = call('acp.command.everyday', 'cancel_session')

local function close()
  require('acp.ui.window').close(vim.api.nvim_get_current_win())
end

local function write()
  vim.cmd.stopinsert()
  vim.cmd.write()
end

local function next_hunk()
  require('acp.review.hunk').jump(vim.v.count1)
end

local function previous_hunk()
  require('acp.review.hunk').jump(-vim.v.count1)
end

local function complete()
  vim.api.nvim_feedkeys(vim.keycode('<C-x><C-o>'), 'ni', false)
end

---@type table<string, table<string, fun(bufnr: integer, n: integer|nil)>>
M.list = {
  composer = {
    send = call('acp.ui.composer', 'send'),
    finish = call('acp.ui.composer', 'finish'),
    complete = complete,
    cancel = cancel,
    earlier = call('acp.ui.composer', 'browse', 1),
    later = call('acp.ui.composer', 'browse', -1),
  },
  chat = {
    act = call('acp.ui.chat.cursor_target', 'act'),
    compose = call('acp.ui.composer', 'open_insert'),
    next_turn = call('acp.ui.chat.cursor_target', 'go', 1),
    previous_turn = call('acp.ui.chat.cursor_target', 'go', -1),
    cancel = cancel,
  },
  permission = {
    allow_once = call('acp.command.decide', 'kind', 'allow_once'),
    allow_always = call('acp.command.decide', 'kind', 'allow_always'),
    reject_once = call('acp.command.decide', 'kind', 'reject_once'),
    reject_always = call('acp.command.decide', 'kind', 'reject_always'),
    open = call('acp.command.decide', 'open'),
    review = call('acp.command.decide', 'review'),
    close = close,
  },
  edits = {
    next_hunk = next_hunk,
    previous_hunk = previous_hunk,
    accept_hunk = hunk('accept'),
    reject_hunk = hunk('reject'),
  },
  form = { choose = call('acp.ui.form', 'choose'), review = write },
  queue = { apply = write },
  checkpoints = {
    changes = on_buffer('acp.ui.checkpoints', 'changes'),
    restore = on_buffer('acp.ui.checkpoints', 'restore'),
    restore_all = on_buffer('acp.ui.checkpoints', 'restore_all'),
    undo = on_buffer('acp.ui.checkpoints', 'undo'),
    refresh = on_buffer('acp.ui.checkpoints', 'refresh'),
    close = close,
  },
  view = { close = close },
  terminal = { close = close, stop = on_buffer('acp.ui.terminal', 'stop') },
}

-- The two sides of the review, and the list of files below them.
local files = {
  next_file = review('go', 1),
  previous_file = review('go', -1),
  accept_file = review('decide', 'accept'),
  reject_file = review('decide', 'reject'),
  close = review('close'),
}
M.list.review = vim.tbl_extend('error', { obtain = review('obtain'), put = review('put') }, files)
M.list.review_files = vim.tbl_extend('error', { open = review('pick') }, files)

for i = 1, 9 do
  M.list.permission['option_' .. i] = call('acp.command.decide', 'option', i)
end

for window, list in pairs(M.list) do
  list.help = function()
    local shown = window:find('^review') and require('acp.review.tab').state()
    require('acp.ui.help').open(window, shown and shown.source.words)
  end
end

return M
