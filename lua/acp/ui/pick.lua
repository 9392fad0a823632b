--- Choices and questions through vim.ui.select and vim.ui.input, one at a time. Two dialogs would
--- nest, and the answer to the second would go to the first.
local M = {}

---@class acp.Question
---@field put fun(done: fun()) function that opens the dialog and calls `done` after the answer
---@field drop fun() function that answers as if the user had cancelled
---@field is_closed boolean|nil whether the window of its picker was closed
---@field is_of_host boolean|nil whether the host asks, some time after the user's request

local queue = {} ---@type acp.Question[]
local active ---@type acp.Question|nil
local is_watching = false

--- Return whether a dialog may open now without taking keys that were typed for something else.
local function may_open()
  -- nt: Normal mode in a terminal window
  return vim.api.nvim_get_mode().mode:match('^nt?$') ~= nil and vim.fn.getcmdwintype() == ''
end

local advance ---@type fun()

--- Time for a picker to open, and to call back after it has closed.
local PATIENCE_MS = 200

--- Return whether the user is in an ordinary window, so that no picker is open.
local function is_outside()
  return may_open() and (vim.w.acp ~= nil or not require('acp.ui.win').is_float(0))
end

--- Drop the active question if its picker has closed. Some pickers never call back when they are
--- closed.
local function abandon_closed()
  local question = active
  if not question or not is_outside() then return end
  vim.defer_fn(function()
    if active ~= question or not is_outside() then return end
    active = nil
    question.drop()
    advance()
  end, PATIENCE_MS)
end

local function wait()
  if is_watching then return end
  is_watching = true
  vim.api.nvim_create_autocmd({ 'ModeChanged', 'CmdwinLeave', 'WinEnter' }, {
    once = true,
    callback = vim.schedule_wrap(function()
      is_watching = false
      advance()
    end),
  })
end

--- Watch the window of a question's picker, to drop the question once the window has closed.
---@return boolean|nil is_found whether the current window is the picker's, or no longer needed
local function watch_window(question)
  if active ~= question then return true end
  if vim.w.acp or not require('acp.ui.win').is_float(0) then return end
  vim.api.nvim_create_autocmd('WinClosed', {
    pattern = tostring(vim.api.nvim_get_current_win()),
    once = true,
    callback = vim.schedule_wrap(function()
      question.is_closed = true
      advance()
    end),
  })
  return true
end

--- Watch a question's picker from when it opens, now or later.
local function watch_picker(question)
  if watch_window(question) then return end
  vim.api.nvim_create_autocmd('WinEnter', {
    callback = function() return watch_window(question) end,
  })
end

advance = function()
  if #queue == 0 and not (active and active.is_closed) then return end
  if active then abandon_closed() end
  if active or not may_open() then return wait() end
  local keys = require('acp.buffers.typed_keys')
  local left = queue[1].is_of_host and keys.pause_left() or 0
  if left > 0 then
    vim.defer_fn(advance, left)
    return
  end
  local question = table.remove(queue, 1)
  active = question
  keys.on_dialog()
  local function done()
    if active == question then active = nil end
    vim.schedule(advance)
  end
  -- An uncaught error would end in a hit-enter prompt, which blocks Neovim.
  local ok, why = pcall(question.put, done)
  if ok then
    watch_picker(question)
  else
    require('acp.base.notify').show('error', 'dialog_failed', why)
    question.drop()
    done()
  end
end

---@param question acp.Question
local function ask(question)
  queue[#queue + 1] = question
  -- Not inside the frame that asks: the default dialogs block, and the host waits for the frame.
  vim.schedule(advance)
end

--- Return a function that sends the answer to the host once, however often a picker calls it.
---@return fun(value: any)
local function answer_once(verb, id, name)
  local is_answered = false
  return function(value)
    if not is_answered then
      is_answered = true
      require('acp.base.host').notify(verb, { id = id, [name] = value })
    end
  end
end

---@class acp.PickItem
---@field label string
---@field preview? string[] lines for pickers with a preview

---@param item string|acp.PickItem
local function label(item)
  local text = type(item) == 'table' and item.label or item --[[@as string]]
  return require('acp.base.notify').one_line(text)
end

--- Return a prompt for |vim.ui.select()|. fzf-lua shows it before the text that the user types, and
--- replaces a colon at its end.
---@param prompt string
---@return string
function M.heading(prompt)
  local text = label(prompt)
  return text .. (text:match('[%w)]$') and ':' or ' ')
end

--- Return the lines of an item's preview.
---@param item acp.PickItem
local function preview(item) return item.preview end

--- Options for the |vim.ui.select()| of snacks.nvim, which shows a preview only if asked to.
local SNACKS = {
  preview = function(context)
    context.preview:reset()
    context.preview:set_lines(context.item.item.preview)
  end,
  layout = { hidden = {}, layout = { height = 0.8 } },
  win = { preview = { wo = { number = false, wrap = true, linebreak = true } } },
}

--- Kinds of choices with one item, which the user accepts or declines.
local YES_OR_NO = { last_chat = true }

--- Return whether vim.ui.select is Neovim's own list, which needs a number and <CR>.
local function is_builtin_select()
  return debug.getinfo(vim.ui.select, 'S').source:match('vim/ui%.lua$') ~= nil
end

--- Ask whether to accept an item with a single key, `y` or <CR>.
---@param item string|acp.PickItem
---@return integer|nil index
local function confirm(prompt, item)
  local question = label(prompt) .. '\n' .. label(item)
  local ok, answer = pcall(vim.fn.confirm, question, '&Yes\n&No', 1) -- <C-c> is an error
  return ok and answer == 1 and 1 or nil
end

--- Ask with |vim.ui.select()|. If a picker passes only the item, look up its index.
---@param items (string|acp.PickItem)[]
---@param on_index fun(index: integer|nil)
local function select(prompt, kind, items, on_index, done)
  if YES_OR_NO[kind] and is_builtin_select() then
    on_index(confirm(prompt, items[1]))
    return done()
  end
  local opts = { prompt = M.heading(prompt), kind = 'acp_' .. kind, format_item = label }
  if type(items[1]) == 'table' and items[1].preview then
    opts.preview_item, opts.snacks = preview, SNACKS
  end
  vim.ui.select(items, opts, function(item, index)
    if item ~= nil and not index then
      index = vim
        .iter(ipairs(items))
        :find(function(_, candidate) return rawequal(candidate, item) end)
    end
    on_index(index)
    done()
  end)
end

--- Ask with |vim.ui.select()| and call `on_choice`, unless the user cancels.
---@param items (string|acp.PickItem)[]
---@param on_choice fun(index: integer)
function M.choose(prompt, kind, items, on_choice)
  local chosen = false
  ask({
    put = function(done)
      select(prompt, kind, items, function(index)
        if index and not chosen then
          chosen = true
          on_choice(index)
        end
      end, done)
    end,
    drop = function() end,
  })
end

--- Ask with |vim.ui.select()|. The answer is the verb `picked {id, index}`. The index is 1-based
--- and absent if the user cancels.
---@param id integer|string
---@param items (string|acp.PickItem)[]
function M.select(id, prompt, kind, items)
  local answer = answer_once('picked', id, 'index')
  ask({
    is_of_host = true,
    put = function(done) select(prompt, kind, items, answer, done) end,
    drop = answer,
  })
end

--- Ask with |vim.ui.input()|. The answer is the verb `typed {id, text}`, without text if the user
--- cancels.
---@param id integer|string
---@param default string|nil
function M.input(id, prompt, default)
  local answer = answer_once('typed', id, 'text')
  ask({
    is_of_host = true,
    put = function(done)
      vim.ui.input({ prompt = label(prompt), default = default }, function(text)
        answer(text)
        done()
      end)
    end,
    drop = answer,
  })
end

--- Ask for a secret with |inputsecret()|, which neither shows nor stores it. The answer is the same
--- as for `input`. An empty answer counts as cancelled.
---@param id integer|string
function M.secret(id, prompt)
  local answer = answer_once('typed', id, 'text')
  ask({
    is_of_host = true,
    put = function(done)
      local ok, text = pcall(vim.fn.inputsecret, label(prompt) .. ': ') -- <C-c> is an error
      answer(ok and text ~= '' and text or nil)
      done()
    end,
    drop = answer,
  })
end

return M
