--- Completion while the user types in a composer: the language server for completion plugins, and
--- without such a plugin a menu after `/`, `@`, `{` or `#` at the start of a word. No entry is
--- preselected, so that all keys keep their meaning.
local M = {}

local completion = require('acp.features.prompts.composer.completion')

local QUIET = 'c' -- flag of 'shortmess': no messages about the menu

--- Completion plugins, each with a test whether it is active in the current buffer.
local ENGINES = {
  ['blink.cmp'] = function()
    -- Its plugin file loads the module even if `setup()` is never called.
    if not package.loaded['blink.cmp.completion.trigger'] then return false end
    local enabled = require('blink.cmp.config').enabled -- from version 2 on, it may be a boolean
    if type(enabled) == 'function' then enabled = enabled() end
    return enabled == 'force' or enabled and vim.b.completion ~= false
  end,
  ['cmp'] = function() return require('cmp.config').enabled() end,
  ['mini.completion'] = function()
    return not (vim.g.minicompletion_disable or vim.b.minicompletion_disable)
  end,
}

--- Return whether something else completes in the current buffer. A plugin whose test fails counts
--- as active.
local function has_completion()
  local ok, native = pcall(function() return vim.o.autocomplete end)
  if ok and native then return true end
  for name, is_on in pairs(ENGINES) do
    local has_run, on = true, false
    if package.loaded[name] then
      has_run, on = pcall(is_on)
    end
    if not has_run or on then return true end
  end
  return false
end

--- Set the options that the menu needs until it closes.
local function set_menu_options()
  local before = { completeopt = vim.o.completeopt, shortmess = vim.o.shortmess }
  vim.o.completeopt = 'menuone,noselect,popup'
  if not before.shortmess:find(QUIET, 1, true) then vim.o.shortmess = before.shortmess .. QUIET end
  local on, group = require('acp.base.autocmds').group('acp.popup')
  on({ 'CompleteDone', 'InsertLeave', 'BufLeave' }, function()
    vim.o.completeopt, vim.o.shortmess = before.completeopt, before.shortmess
    vim.api.nvim_del_augroup_by_id(group)
  end)
end

local function show()
  if vim.fn.pumvisible() == 1 or not completion.has_completion() then return end
  if require('acp.ui.window.menu_room').is_scarce() then return end
  set_menu_options()
  vim.api.nvim_feedkeys(vim.keycode('<C-x><C-o>'), 'n', false)
end

--- Open the menu of blink.cmp for a `{` that an auto-pairs plugin has inserted with its `}`.
--- blink.cmp looks only at the last character inserted.
local function show_for_pair()
  local at = vim.api.nvim_win_get_cursor(0)
  local trigger = package.loaded['blink.cmp.completion.trigger']
  if not trigger or vim.api.nvim_get_current_line():sub(at[2], at[2] + 1) ~= '{}' then return end
  local char = { trigger_kind = 'trigger_character', trigger_character = '{' }
  vim.schedule(function() trigger.show(char) end)
end

---@class acp.SeenLine
---@field row integer
---@field text string

---@return acp.SeenLine
local function current_line()
  return { row = vim.api.nvim_win_get_cursor(0)[1], text = vim.api.nvim_get_current_line() }
end

--- Open the menu if the text just typed in composer `n` starts a completion.
---@param before acp.SeenLine the line of the cursor at the last event
local function on_typed(n, before)
  local text = before.row == vim.api.nvim_win_get_cursor(0)[1] and before.text or nil
  if not completion.is_new(text) or not require('acp.config').get().composer.popup then return end
  if not has_completion() then return completion.when_known(n, show) end
  show_for_pair()
end

--- Return the 'sortText' of an nvim-cmp entry from the composer's language server, nil for others.
--- Called for each comparison in all buffers, since nvim-cmp has one list of comparators.
---@return string|nil
local function sort_text(entry)
  local client = entry.source.source.client
  return client and client.name == 'acp' and entry.completion_item.sortText or nil
end

--- Compare two entries of nvim-cmp: those of the server come first and in its order. The usual
--- comparators sort by kind and length.
---@return boolean|nil
local function in_order(first, second)
  local a, b = sort_text(first), sort_text(second)
  if a and b and a ~= b then return a < b end
  if (a == nil) ~= (b == nil) then return a ~= nil end
end

--- Let nvim-cmp find the server and keep the server's order, if nvim-cmp and its source
--- cmp-nvim-lsp are loaded. The source looks for servers only when Insert mode begins. That is too
--- early if Insert mode loads both plugins.
local function join_cmp()
  local cmp, source = package.loaded['cmp'], package.loaded['cmp_nvim_lsp']
  if not cmp or not source then return end
  local comparators = cmp.get_config().sorting.comparators
  if not vim.tbl_contains(comparators, in_order) then table.insert(comparators, 1, in_order) end
  if source._on_insert_enter then source._on_insert_enter() end
end

--- Let nvim-cmp complete a word that was begun before it found the server. By itself it waits for
--- the next key.
local function complete_begun_word()
  local cmp = package.loaded['cmp']
  if not cmp or not ENGINES.cmp() or not completion.is_new('') then return end
  local is_automatic = cmp.get_config().completion.autocomplete
  if is_automatic then cmp.complete({ reason = cmp.ContextReason.Auto }) end
end

--- Modules of Neovim's client, which are loaded one by one.
local CLIENT = { 'protocol', 'util', '_changetracking', 'log', 'rpc', 'client' }

--- Composers that get the server once these modules are loaded.
---@type table<integer, true?>
local waiting = {}

--- Attach the language server to a composer. If Neovim's client is not loaded, which takes 10 to 30
--- ms, load it after the window is drawn, in steps between which keys are handled.
---@param insert fun(name: string)
local function attach(bufnr, insert)
  local function now()
    require('acp.features.prompts.composer.server').attach(bufnr, insert)
    join_cmp()
  end
  if package.loaded['vim.lsp.client'] then return now() end
  if waiting[bufnr] then return end -- else it would start again a server that the user has stopped
  waiting[bufnr] = true
  local slices = require('acp.base.slices')
  slices.run(function()
    slices.rest()
    for _, name in ipairs(CLIENT) do
      pcall(require, 'vim.lsp.' .. name) -- the modules differ between versions of Neovim
      slices.rest()
    end
    require('acp.features.prompts.composer.server')
    slices.rest()
    waiting[bufnr] = nil
    if not vim.api.nvim_buf_is_loaded(bufnr) then return end
    now()
    if vim.api.nvim_get_current_buf() == bufnr then complete_begun_word() end
  end)
end

--- Watch the completions in a composer, and attach the language server.
---@param n integer
---@param bufnr integer
---@param on acp.On
---@param on_prompt fun(text: string) called after the text of a library prompt was inserted
function M.watch(n, bufnr, on, on_prompt)
  local function insert(name)
    if vim.api.nvim_get_current_buf() == bufnr then completion.replace_name(name, on_prompt) end
  end
  local here, seen = { buffer = bufnr }, { row = 0, text = '' }
  on('TextChangedI', function()
    local before = seen
    seen = current_line()
    on_typed(n, before)
  end, here)
  on('InsertEnter', function() seen = current_line() end, here)
  on('CompleteDone', function()
    local completed = vim.v.completed_item
    if type(completed.user_data) == 'table' then completion.add_rest(completed) end
    completion.remove_pair(completed.word)
    insert(completed.word)
  end, here)
  on('CompleteChanged', function() completion.preview(vim.v.event.completed_item) end, here)
  on({ 'BufWinEnter', 'InsertEnter' }, function() attach(bufnr, insert) end, here)
end

--- Functions that end what a completion plugin shows or has begun, by module.
local ENDS = {
  ['blink.cmp.completion.trigger'] = function(trigger)
    trigger.hide()
    -- After keys typed ahead of the screen it handles the last one only when the text is removed.
    if trigger.buffer_events then trigger.buffer_events.last_char = '' end
  end,
  ['mini.completion'] = function(mini) mini.stop({ 'completion' }) end,
}

--- End a completion before the text of a composer is removed. Otherwise a plugin would treat the
--- empty line as a shorter word and list the words of all buffers. Neovim's menu would stay open,
--- because a mapped key does not close it. |i_CTRL-X_CTRL-Z| closes it without changing the text.
function M.leave(bufnr)
  for name, finish in pairs(ENDS) do
    if package.loaded[name] then finish(package.loaded[name]) end
  end
  local is_here = vim.api.nvim_get_current_buf() == bufnr
  if is_here and vim.fn.pumvisible() == 1 then vim.api.nvim_feedkeys('\24\26', 'in', false) end
end

return M
