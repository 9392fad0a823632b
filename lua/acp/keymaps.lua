--- Keys of our windows: what each can do, and which key does it (option `keymaps`).
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

---@type table<string, table<string, acp.Action>>
local actions = {
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
      run = call('acp.chat', 'action'),
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
    open = { desc = 'open the form', run = call('acp.decide', 'open') },
    review = { desc = 'show its edits side by side', run = call('acp.decide', 'review') },
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
    review = {
      desc = 'review and send',
      run = function()
        vim.cmd.stopinsert()
        vim.cmd.write()
      end,
    },
  },
  view = { close = close },
  terminal = {
    close = close,
    stop = {
      desc = 'end what runs in the terminal',
      run = function(bufnr)
        require('acp.terminal').stop(bufnr)
      end,
    },
  },
}

-- The two sides of the review, and the list of files below them.
actions.review = {
  next_file = { desc = 'next file', run = review('go', 1) },
  previous_file = { desc = 'previous file', run = review('go', -1) },
  accept_file = { desc = 'accept the file', run = review('decide', 'accept') },
  reject_file = { desc = 'reject the file', run = review('decide', 'reject') },
  close = { desc = 'close the review', run = review('close') },
}
local files = vim.deepcopy(actions.review)
actions.review.obtain =
  { desc = 'obtain the other side: in the live text, reject', run = review('obtain') }
actions.review.put =
  { desc = 'put into the other side: into the base, accept', run = review('put') }
actions.review_files = vim.tbl_extend('error', {
  open = { desc = 'show the file', run = review('pick') },
}, files)

for i = 1, 9 do
  actions.permission['option_' .. i] =
    { desc = 'the option of that number', run = call('acp.decide', 'option', i) }
end

for window, list in pairs(actions) do
  list.help = {
    desc = 'this list',
    run = function()
      require('acp.help').open(window)
    end,
  }
end

--- Names of the windows that have keys, sorted.
---@return string[]
local function windows()
  local names = vim.tbl_keys(actions)
  table.sort(names)
  return names
end

---@param value any
---@return string|false|nil action nil when `value` is no key's value
---@return string[] modes
local function parts(value)
  if value == false or type(value) == 'string' then
    return value, --[[@as string|false]]
      { 'n' }
  end
  if type(value) ~= 'table' or type(value[1]) ~= 'string' then
    return nil, {}
  end
  local mode = value.mode or 'n'
  return value[1], type(mode) == 'table' and mode or { mode }
end

---@param known table<string, acp.Action>
---@param path string
---@param value any
---@return string|nil mistake
local function mistake(known, path, value)
  local action, modes = parts(value)
  if action == nil then
    return ("option '%s' should be an action, { action, mode = … } or false"):format(path)
  end
  if action and not known[action] then
    local names = vim.tbl_keys(known)
    table.sort(names)
    return require('acp.nearest').message("action of '" .. path .. "'", action, names)
  end
  for _, mode in ipairs(modes) do
    if not vim.tbl_contains({ 'n', 'i', 'x', 'v', 's', 'o' }, mode) then
      return ("option '%s': unknown mode '%s'"):format(path, tostring(mode))
    end
  end
end

--- Keys of one window over the defaults; a key counts as the same however it is spelled.
---@param base table<string, any>
---@param given table<string, any>
---@param window string
---@param say fun(message: string)
---@return table<string, any>
local function merge_window(base, given, window, say)
  local result = vim.deepcopy(base)
  local spelled = {}
  for key in pairs(base) do
    spelled[vim.keycode(key)] = key
  end
  for key, value in pairs(given) do
    local path = ('keymaps.%s[%s]'):format(window, tostring(key))
    local wrong = type(key) ~= 'string' and ("option '%s' should be named by a key"):format(path)
      or mistake(actions[window], path, value)
    if wrong then
      say(wrong)
    else
      local same = spelled[vim.keycode(key)]
      if same then
        result[same] = nil
      end
      result[key] = value
    end
  end
  return result
end

--- The user's `keymaps` over the defaults. `false` for one window, or for all, takes the keys
--- away.
---@param base table
---@param given any
---@param say fun(message: string)
---@return table|false
function M.merge(base, given, say)
  if given == false then
    return false
  end
  if type(given) ~= 'table' then
    say("option 'keymaps' should be a table or false")
    return vim.deepcopy(base)
  end
  local result = vim.deepcopy(base)
  for window, keys in pairs(given) do
    if not actions[window] then
      say(
        require('acp.nearest').message(
          'option',
          'keymaps.' .. tostring(window),
          vim.tbl_map(function(name)
            return 'keymaps.' .. name
          end, windows())
        )
      )
    elseif keys == false then
      result[window] = false
    elseif type(keys) ~= 'table' then
      say(("option 'keymaps.%s' should be a table or false"):format(window))
    else
      result[window] = merge_window(base[window], keys, window, say)
    end
  end
  return result
end

---@class acp.Key
---@field key string
---@field modes string[]
---@field action string
---@field desc string

--- Keys in force in a window, sorted by what they do.
---@param window string
---@return acp.Key[]
function M.list(window)
  local keymaps = require('acp.config').get().keymaps
  local keys = {}
  for key, value in pairs(keymaps and keymaps[window] or {}) do
    local action, modes = parts(value)
    if action then
      local desc = actions[window][action].desc
      keys[#keys + 1] = { key = key, modes = modes, action = action, desc = desc }
    end
  end
  table.sort(keys, function(a, b)
    return a.desc == b.desc and a.key < b.key or a.desc < b.desc
  end)
  return keys
end

---@class acp.Attached
---@field n? integer session
---@field keys { mode: string, key: string, desc: string }[]

--- What was set, by buffer and window's kind.
local attached = {} ---@type table<integer, table<string, acp.Attached>>

--- In the chat a permission's key is one only while the cursor is on a pending permission; else
--- it does what it always does, counts, operators and registers included.
---@param key acp.Key
---@param bufnr integer
local function map_on_card(key, bufnr)
  vim.keymap.set('n', key.key, function()
    if not require('acp.chat').card_at_cursor() then
      return key.key
    end
    return ('<Cmd>lua require("acp.keymaps").run("permission", "%s")<CR>'):format(key.action)
  end, { buffer = bufnr, nowait = true, expr = true, desc = 'acp: ' .. key.desc })
end

--- Keys of pending permissions that a chat has while the cursor is on one.
---@return acp.Key[]
local function card_keys()
  return vim.tbl_filter(function(key)
    return key.action ~= 'help' and key.action ~= 'open'
  end, M.list('permission'))
end

--- Do an action of a window, as if its key had been pressed in the current buffer.
---@param window string
---@param action string
---@param n? integer session
function M.run(window, action, n)
  actions[window][action].run(vim.api.nvim_get_current_buf(), n)
end

--- Set the keys of a window's kind in a buffer; the chat gets those of pending permissions as
--- well.
---@param window 'composer'|'chat'|'permission'|'edits'|'view'|'terminal'
---@param bufnr integer
---@param n? integer session
function M.attach(window, bufnr, n)
  M.detach(window, bufnr)
  local it = { n = n, keys = {} }
  attached[bufnr] = attached[bufnr] or {}
  attached[bufnr][window] = it
  local function note(key)
    for _, mode in ipairs(key.modes) do
      table.insert(it.keys, { mode = mode, key = key.key, desc = 'acp: ' .. key.desc })
    end
  end
  for _, key in ipairs(M.list(window)) do
    local run = actions[window][key.action].run
    vim.keymap.set(key.modes, key.key, function()
      run(bufnr, n)
    end, { buffer = bufnr, nowait = true, silent = true, desc = 'acp: ' .. key.desc })
    note(key)
  end
  for _, key in ipairs(window == 'chat' and card_keys() or {}) do
    map_on_card(key, bufnr)
    note(key)
  end
end

--- Take the keys of a window's kind away from a buffer, where they are still ours.
---@param window string
---@param bufnr integer
function M.detach(window, bufnr)
  local it = (attached[bufnr] or {})[window]
  for _, key in ipairs(it and it.keys or {}) do
    local map = vim.api.nvim_buf_call(bufnr, function()
      return vim.fn.maparg(key.key, key.mode, false, true)
    end)
    if map.buffer == 1 and map.desc == key.desc then
      vim.keymap.del(key.mode, key.key, { buffer = bufnr })
    end
  end
  if it then
    attached[bufnr][window] = nil
  end
end

--- Option `keymaps` has changed: windows that are there get their keys anew.
function M.refresh()
  for bufnr, windows_of in pairs(vim.deepcopy(attached)) do
    if not vim.api.nvim_buf_is_valid(bufnr) then
      attached[bufnr] = nil
    else
      for window, it in pairs(windows_of) do
        M.attach(window, bufnr, it.n)
      end
    end
  end
end

return M
