--- Features of the plugin. A feature is a folder here and its name in `NAMES`; to remove a feature,
--- delete both. The `init.lua` of the folder returns its declaration.
---
--- Every entry point (commands, <Plug> maps, `require('acp')`, frames) loads this file first. A
--- search for a name loads the declarations one by one until one has it, a signal loads all. The
--- other modules of a feature are loaded when they are called.
local M = {}

--- The features of the first keys come first, so that their searches are short.
local NAMES = {
  'prompts',
  'chat',
  'permissions',
  'review',
  'rules',
  'sessions',
  'agents',
  'blame',
  'checkpoints',
  'edit',
  'extensions',
  'follow',
  'forms',
  'history',
  'install',
  'library',
  'login',
  'notifications',
  'operator',
  'overview',
  'pictures',
  'plan',
  'presets',
  'progress',
  'refuse',
  'report',
  'terminals',
  'tools',
  'trust',
  'tutor',
  'worktrees',
}

---@class acp.Feature
---@field subcommands? table<string, acp.MenuEntry> subcommands, which are in `subcommands.lua`
---@field windows? string[] windows of option `keymaps`, whose actions are in `keys.lua`
---@field frame? table<string, acp.Target|function> frame operations
---@field signals? table<string, acp.Target|function> listeners (`acp.base.signals`)
---@field functions? table<string, acp.Target> functions of `require('acp')`
---@field commands? table<string, acp.Target> user commands in addition to `:Acp`
---@field maps? table<string, acp.Target|function> names of <Plug> maps, without `acp-`

---@class acp.Target
---@field [1] string module in the feature's folder
---@field [2] string function of the module
---@field if_loaded? boolean whether a signal is ignored until something else has loaded the module

---@class acp.MenuEntry
---@field [1] string description
---@field [2] string group in the menu of a bare `:Acp`
---@field [3] integer place in the group
---@field applies? 'asked'|'edits'|'running'|'waits' state in which it comes first in the menu

local any_loaded = false

--- Iterate over the features in their order: name and declaration.
---@return fun(): string?, acp.Feature?
local function declarations()
  local i = 0
  any_loaded = true
  return function()
    i = i + 1
    local name = NAMES[i]
    if name then return name, require('acp.features.' .. name) end
  end
end

---@param feature string
---@param target acp.Target|function
---@return function
local function resolve(feature, target)
  if type(target) == 'function' then return target end
  return require(('acp.features.%s.%s'):format(feature, target[1]))[target[2]]
end

--- Return the function that a feature declares for a name.
---@param kind 'frame'|'functions'|'commands'|'maps'
---@return function|nil
function M.find(kind, name)
  for feature, declaration in declarations() do
    local target = (declaration[kind] or {})[name]
    if target then return resolve(feature, target) end
  end
end

--- Return all names that features declare.
---@param kind 'subcommands'|'frame'|'functions'|'commands'|'maps'
---@return string[] names sorted
function M.names(kind)
  local names = {}
  for _, declaration in declarations() do
    vim.list_extend(names, vim.tbl_keys(declaration[kind] or {}))
  end
  table.sort(names)
  return names
end

---@return acp.Subcommand|nil
function M.subcommand(name)
  for feature, declaration in declarations() do
    if (declaration.subcommands or {})[name] then
      return require('acp.features.' .. feature .. '.subcommands')[name]
    end
  end
end

--- Return the menu entries of all subcommands, by name.
---@return table<string, acp.MenuEntry>
function M.menu()
  local entries = {}
  for _, declaration in declarations() do
    entries = vim.tbl_extend('error', entries, declaration.subcommands or {})
  end
  return entries
end

---@class acp.Action
---@field [1] string description
---@field [2] fun(bufnr: integer, n: integer|nil)

--- Return the actions that features declare for a window; several may do so.
---@return table<string, acp.Action>
local function own_actions(window)
  local declared = require('acp.ui.actions').windows[window] or {}
  for feature, declaration in declarations() do
    if vim.tbl_contains(declaration.windows or {}, window) then
      local keys = require('acp.features.' .. feature .. '.keys')[window]
      declared = vim.tbl_extend('error', declared, keys)
    end
  end
  return declared
end

--- Return the actions of a kind of window, by name. Every window can show the list of its keys.
---@return table<string, acp.Action>
local function actions(window)
  local function help() require('acp.ui.help').open(window) end
  return vim.tbl_extend('keep', own_actions(window), { help = { 'this list', help } })
end

--- Signals without a listener in a feature that is not loaded. They occur while Neovim starts: in
--- `setup()`, and in a statusline that shows the state.
local LOADS_NO_FEATURE = { options_changed = true, snapshot = true }

local known = {} ---@type table<string, function[]> listeners by signal

--- Return the listeners that features declare for a signal.
---@return function[]
local function listeners(name)
  if known[name] then return known[name] end
  if LOADS_NO_FEATURE[name] and not any_loaded then return {} end
  known[name] = {}
  for feature, declaration in declarations() do
    local target = (declaration.signals or {})[name]
    if type(target) == 'function' then
      table.insert(known[name], target)
    elseif target then
      local module = ('acp.features.%s.%s'):format(feature, target[1])
      table.insert(known[name], function(...)
        if target.if_loaded and not package.loaded[module] then return end
        return require(module)[target[2]](...)
      end)
    end
  end
  return known[name]
end

local signals = require('acp.base.signals')

signals.declare(listeners)

-- Listeners in the folders below.

---@param name string of a signal
---@param module string
local function if_loaded(name, module, call)
  signals.on(name, function()
    if package.loaded[module] then package.loaded[module][call]() end
  end)
end

if_loaded('host_exited', 'acp.base.host.async_calls', 'on_host_exit')
if_loaded('host_exited', 'acp.base.host.replies', 'on_host_exit')
if_loaded('host_exited', 'acp.buffers.language.hidden', 'unload')
if_loaded('verb_goes', 'acp.buffers.watch', 'flush_all')
if_loaded('options_changed', 'acp.ui.keymaps', 'refresh')
if_loaded('options_changed', 'acp.base.host', 'setup')

signals.on('options_changed', function()
  local keymaps = require('acp.config').get().keymaps
  if package.loaded['acp.ui.preset'] or (keymaps and keymaps.preset) then
    require('acp.ui.preset').refresh()
  end
end)

signals.on('options_wrong', function(mistakes)
  local messages = require('acp.base.messages')
  local summary = #mistakes == 1 and messages.one_mistake or messages.mistakes:format(#mistakes)
  require('acp.base.notify').list('warn', summary, mistakes)
end)

signals.on('window_actions', actions)

signals.on('key_pressed', function(window, action, ...) actions(window)[action][2](...) end)

return M
