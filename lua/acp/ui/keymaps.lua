--- Keys of acp windows and their actions (option `keymaps`).
local M = {}

local parts = require('acp.base.settings.keymaps').parts
local signals = require('acp.base.signals')

---@class acp.Key
---@field key string
---@field modes string[]
---@field action string
---@field desc string

--- Cached keys by kind of window, and the option's value that they are from.
local listed, source = {}, nil ---@type table<string, acp.Key[]>, table|nil

---@param keymaps table|false option `keymaps`
---@return acp.Key[]
local function sorted_keys(keymaps, kind)
  local keys, actions = {}, signals.emit('window_actions', kind)
  for key, value in pairs(keymaps and keymaps[kind] or {}) do
    local action, modes = parts(value)
    if action and actions[action] then -- the feature of an action may have been removed
      local desc = actions[action][1]
      keys[#keys + 1] = { key = key, modes = modes, action = action, desc = desc }
    end
  end
  local function is_mouse(key) return key.key:find('Mouse', 1, true) ~= nil end
  table.sort(keys, function(a, b)
    if a.desc ~= b.desc then return a.desc < b.desc end
    if is_mouse(a) ~= is_mouse(b) then return is_mouse(b) end
    return a.key < b.key
  end)
  return keys
end

--- Return the keys of a kind of window, sorted by their descriptions, a mouse button last. Callers
--- must not change the list.
---@return acp.Key[]
function M.list(kind)
  local keymaps = require('acp.config').get().keymaps
  if keymaps ~= source then
    listed, source = {}, keymaps
  end
  listed[kind] = listed[kind] or sorted_keys(keymaps, kind)
  return listed[kind]
end

--- Return the keys of a kind of window with short descriptions, for the winbar: `<C-s> apply · g?
--- keys`. If an action has several keys, `a` is not used, because it would read as an article.
---@param words table<string, string> by action
---@return string
function M.words(kind, words)
  local key_names, keys = require('acp.ui.key_names'), {} ---@type table<string, string> by action
  for _, key in ipairs(M.list(kind)) do
    local word, other = words[key.action], keys[key.action]
    if word and (not other or other == 'a ' .. word) then
      keys[key.action] = key_names.expand(key.key) .. ' ' .. word
    end
  end
  local actions_of = vim.tbl_keys(keys)
  table.sort(actions_of, function(a, b) return key_names.rank(a) < key_names.rank(b) end)
  local texts = vim.tbl_map(function(action) return keys[action] end, actions_of)
  return table.concat(texts, ' · ')
end

---@class acp.AttachedKeys
---@field n? integer session
---@field on_card? fun(): any
---@field keys { mode: string, key: string, desc: string }[]
---@field is_active? fun(bufnr: integer): boolean|nil see `attach_over`
---@field kept? { mode: string, key: string, map: table }[] the user's mappings of the same keys

--- Keys that were set, by buffer and kind of window.
local attached = {} ---@type table<integer, table<string, acp.AttachedKeys>>

--- Set a key in a buffer, in half of the time of `vim.keymap.set()`. A new chat has many keys.
---@param key acp.Key
---@param options vim.api.keyset.keymap
local function set_key(bufnr, modes, key, options)
  options.noremap, options.nowait, options.desc = true, true, 'acp: ' .. key.desc
  for _, mode in ipairs(modes) do
    vim.api.nvim_buf_set_keymap(bufnr, mode, key.key, '', options)
  end
end

local CLIPBOARDS = { ['+'] = 'unnamedplus', ['*'] = 'unnamed' } -- values of 'clipboard'

--- Return the register that was typed before the key, nil if it may be the default one.
---@param is_expr boolean whether the key's mapping is an expression
---@return string|nil
local function typed_register(is_expr)
  local register = vim.v.register
  local is_default = register == '"'
    or vim.tbl_contains(vim.split(vim.o.clipboard, ','), CLIPBOARDS[register])
  local is_typed = not is_default or signals.emit('register_typed', is_expr)
  return is_typed and register or nil
end

--- Map a permission's key in the chat. It acts only while the cursor is on a pending permission.
--- Otherwise, and after a register, it keeps its usual meaning, including counts and operators.
---@param key acp.Key
---@param on_card fun(): any whether the cursor is on a pending permission
local function map_on_card(key, bufnr, on_card)
  local function run()
    if not on_card() or typed_register(true) then return key.key end
    return ('<Cmd>lua require("acp.ui.keymaps").run("permission", "%s")<CR>'):format(key.action)
  end
  set_key(bufnr, { 'n' }, key, { callback = run, expr = true, replace_keycodes = true })
end

--- Return the keys that work in a chat while the cursor is on a pending permission.
---@return acp.Key[]
function M.on_card()
  local left_out = { help = true, open = true, click = true, close = true }
  return vim.tbl_filter(function(key) return not left_out[key.action] end, M.list('permission'))
end

--- Run an action of a kind of window as if its key had been pressed in the current buffer.
---@param action string
---@param n? integer session
function M.run(kind, action, n)
  signals.emit('key_pressed', kind, action, vim.api.nvim_get_current_buf(), n)
end

--- Run a key with its usual meaning, including the user's own mapping. Remove the keys, feed the
--- key and set the keys again afterwards; fed keys are processed before scheduled functions.
---@param key acp.Key
---@param is_active fun(bufnr: integer): boolean|nil
local function pass_on(kind, bufnr, key, is_active)
  M.detach(kind, bufnr)
  local count = vim.v.count > 0 and vim.v.count or ''
  vim.api.nvim_feedkeys(count .. vim.keycode(key.key), 'mi', false)
  vim.schedule(function()
    if vim.api.nvim_buf_is_loaded(bufnr) and is_active(bufnr) ~= nil then
      M.attach_over(kind, bufnr, is_active)
    end
  end)
end

--- Set the keys of a kind of window in a buffer.
---@param n? integer session
---@param on_card? fun(): any whether the cursor is on a pending permission; if given, the keys of
---  permissions are set as well
---@param is_active? fun(bufnr: integer): boolean|nil see `attach_over`
function M.attach(kind, bufnr, n, on_card, is_active)
  M.detach(kind, bufnr)
  local window = { n = n, on_card = on_card, is_active = is_active, keys = {} }
  attached[bufnr] = attached[bufnr] or {}
  attached[bufnr][kind] = window
  local function record(key)
    for _, mode in ipairs(key.modes) do
      table.insert(window.keys, { mode = mode, key = key.key, desc = 'acp: ' .. key.desc })
    end
  end
  for _, key in ipairs(M.list(kind)) do
    local function act()
      -- nvim-cmp runs a mapping that it has replaced, even if that was removed later.
      if not (attached[bufnr] or {})[kind] then
        return vim.api.nvim_feedkeys(vim.keycode(key.key), 'in', false)
      end
      local register = not is_active and vim.fn.mode() == 'n' and typed_register(false)
      if register then -- such as `"+y` to copy a command, which must not allow it
        return vim.api.nvim_feedkeys('"' .. register .. vim.keycode(key.key), 'in', false)
      end
      if is_active and not is_active(bufnr) then return pass_on(kind, bufnr, key, is_active) end
      signals.emit('key_pressed', kind, key.action, bufnr, n)
    end
    set_key(bufnr, key.modes, key, { callback = act, silent = true })
    record(key)
  end
  for _, key in ipairs(on_card and M.on_card() or {}) do
    map_on_card(key, bufnr, on_card)
    record(key)
  end
end

--- Return the buffer-local mapping of a key.
---@param key { mode: string, key: string }
---@return table|nil map result of |maparg()|
local function buffer_mapping(bufnr, key)
  local function look_up() return vim.fn.maparg(key.key, key.mode, false, true) end
  local map = vim.api.nvim_buf_call(bufnr, look_up)
  return map.buffer == 1 and map or nil
end

--- Set the keys of a kind of window in a buffer of the user, over the user's own mappings, which
--- `detach` restores.
---@param kind string as in option 'keymaps'
---@param bufnr integer
---@param is_active? fun(bufnr: integer): boolean|nil whether the keys act at the cursor; if false,
---  they keep their usual meaning; nil removes them
function M.attach_over(kind, bufnr, is_active)
  local window = (attached[bufnr] or {})[kind]
  if window and window.keys[1] and not buffer_mapping(bufnr, window.keys[1]) then
    attached[bufnr][kind] = nil -- `:bdelete` has removed all mappings
  end
  M.detach(kind, bufnr)
  local kept = {}
  for _, key in ipairs(M.list(kind)) do
    for _, mode in ipairs(key.modes) do
      local map = buffer_mapping(bufnr, { mode = mode, key = key.key })
      if map and not (map.desc or ''):match('^acp: ') then
        kept[#kept + 1] = { mode = mode, key = key.key, map = map }
      end
    end
  end
  M.attach(kind, bufnr, nil, nil, is_active)
  attached[bufnr][kind].kept = kept
end

--- Remove the keys of a kind of window from a buffer and restore the user's mappings. A key that
--- the user has mapped in the meantime keeps that mapping.
function M.detach(kind, bufnr)
  local window = (attached[bufnr] or {})[kind]
  if not window then return end
  attached[bufnr][kind] = nil
  if window.kept and not vim.api.nvim_buf_is_loaded(bufnr) then return end
  for _, key in ipairs(window.keys) do
    local map = buffer_mapping(bufnr, key)
    if map and map.desc == key.desc then vim.keymap.del(key.mode, key.key, { buffer = bufnr }) end
  end
  for _, old in ipairs(window.kept or {}) do
    if not buffer_mapping(bufnr, old) then
      vim.api.nvim_buf_call(bufnr, function() vim.fn.mapset(old.mode, false, old.map) end)
    end
  end
end

--- Set the keys of existing buffers again after option `keymaps` has changed.
function M.refresh()
  for bufnr, windows_of in pairs(vim.deepcopy(attached)) do
    if not vim.api.nvim_buf_is_valid(bufnr) then
      attached[bufnr] = nil
    else
      for kind, window in pairs(windows_of) do
        if window.kept then
          M.attach_over(kind, bufnr, window.is_active)
        else
          M.attach(kind, bufnr, window.n, window.on_card)
        end
      end
    end
  end
end

return M
