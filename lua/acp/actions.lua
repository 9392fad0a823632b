--- What the keys of our windows can do, by window and by the name that option `keymaps` has for it.
local M = {}

---@class acp.Action
---@field desc string
---@field run fun(bufnr: integer, n: integer|nil)

---@param module string
---@param name string
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

---@param module string
---@param name string
---@return fun(bufnr: integer)
local function on_buffer(module, name)
  return function(bufnr)
    require(module)[name](bufnr)
  end
end

---@param name string
local function hunk(name)
  return function()
    require('acp.hunk').decide(name, 'hunk')
  end
end

--- Steps in the review count: `3]f`.
---@param name string
---@param arg? any
local function review(name, arg)
  return function()
    local steps = name == 'go' and arg * vim.v.count1 or arg
    require('acp.review')[name](steps)
  end
end

local cancel = { desc = 'cancel the turn', run = call('acp.command', 'cancel_session') }

local close = {
  desc = 'close the window',
  run = function()
    require('acp.window').close(vim.api.nvim_get_current_win())
  end,
}

local function write()
  vim.cmd.stopinsert()
  vim.cmd.write()
end

---@type table<string, table<string, acp.Action>>
M.list = {
  composer = {
    send = { desc = 'send', run = call('acp.composer', 'send') },
    finish = { desc = 'send and close', run = call('acp.composer', 'finish') },
    complete = {
      desc = 'complete /command, @file',
      run = function()
        vim.api.nvim_feedkeys(vim.keycode('<C-x><C-o>'), 'ni', false)
      end,
    },
    cancel = cancel,
    earlier = { desc = 'earlier prompt', run = call('acp.composer', 'browse', 1) },
    later = { desc = 'later prompt', run = call('acp.composer', 'browse', -1) },
  },
  chat = {
    act = {
      desc = 'open, unfold or show what is under the cursor',
      run = call('acp.under', 'act'),
    },
    compose = { desc = 'go to the composer', run = call('acp.composer', 'open_insert') },
    next_turn = { desc = 'next turn', run = call('acp.turns', 'go', 1) },
    previous_turn = { desc = 'previous turn', run = call('acp.turns', 'go', -1) },
    cancel = cancel,
  },
  permission = {
    allow_once = { desc = 'allow once', run = call('acp.decide', 'kind', 'allow_once') },
    allow_always = { desc = 'allow always', run = call('acp.decide', 'kind', 'allow_always') },
    reject_once = { desc = 'reject once', run = call('acp.decide', 'kind', 'reject_once') },
    reject_always = { desc = 'reject always', run = call('acp.decide', 'kind', 'reject_always') },
    open = { desc = 'show all of it, or its form', run = call('acp.decide', 'open') },
    review = { desc = 'show its edits side by side', run = call('acp.decide', 'review') },
    close = close,
  },
  edits = {
    next_hunk = {
      desc = 'next hunk',
      run = function()
        require('acp.hunk').jump(vim.v.count1)
      end,
    },
    previous_hunk = {
      desc = 'previous hunk',
      run = function()
        require('acp.hunk').jump(-vim.v.count1)
      end,
    },
    accept_hunk = { desc = 'accept the hunk', run = hunk('accept') },
    reject_hunk = { desc = 'reject the hunk', run = hunk('reject') },
  },
  form = {
    choose = { desc = 'tick the box', run = call('acp.form', 'choose') },
    review = { desc = 'review and send', run = write },
  },
  queue = { apply = { desc = 'apply what is written here', run = write } },
  checkpoints = {
    changes = { desc = 'show what changed since', run = on_buffer('acp.checkpoints', 'changes') },
    restore = { desc = 'bring the files back', run = on_buffer('acp.checkpoints', 'restore') },
    undo = { desc = 'take the last restore back', run = on_buffer('acp.checkpoints', 'undo') },
    refresh = { desc = 'look again', run = on_buffer('acp.checkpoints', 'refresh') },
    close = close,
  },
  view = { close = close },
  terminal = {
    close = close,
    stop = { desc = 'end what runs in the terminal', run = on_buffer('acp.terminal', 'stop') },
  },
}

-- The two sides of the review, and the list of files below them.
M.list.review = {
  next_file = { desc = 'next file', run = review('go', 1) },
  previous_file = { desc = 'previous file', run = review('go', -1) },
  accept_file = { desc = 'accept the file', run = review('decide', 'accept') },
  reject_file = { desc = 'reject the file', run = review('decide', 'reject') },
  close = { desc = 'close the review', run = review('close') },
}
local files = vim.deepcopy(M.list.review)
M.list.review.obtain =
  { desc = 'obtain the other side: in the live text, reject', run = review('obtain') }
M.list.review.put = { desc = 'put into the other side: into the base, accept', run = review('put') }
M.list.review_files = vim.tbl_extend('error', {
  open = { desc = 'show the file', run = review('pick') },
}, files)

for i = 1, 9 do
  M.list.permission['option_' .. i] =
    { desc = 'the option of that number', run = call('acp.decide', 'option', i) }
end

for window, list in pairs(M.list) do
  list.help = {
    desc = 'this list',
    run = function()
      require('acp.help').open(window)
    end,
  }
end

return M
