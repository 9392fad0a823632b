--- The user's keys for the actions of the tutor's tour, which names them.
local M = {}

--- Name -> window of the key, its action, and its mode.
local LOCAL = {
  send = { 'composer', 'send', 'i' },
  allow = { 'permission', 'allow_once', 'n' },
  deny = { 'permission', 'reject_once', 'n' },
  next = { 'edits', 'next_hunk', 'n' },
  accept = { 'edits', 'accept_hunk', 'n' },
  reject = { 'edits', 'reject_hunk', 'n' },
  cancel = { 'chat', 'cancel', 'n' },
  help = { 'chat', 'help', 'n' },
}

--- Name -> <Plug> mapping, and the command that does the same.
local GLOBAL = {
  prompt = { 'prompt', ':AcpPrompt' },
  allow_anywhere = { 'allow', ':Acp allow' },
  cancel_anywhere = { 'cancel', ':AcpCancel' },
  follow = { 'follow', ':Acp follow' },
  accept = { 'accept-hunk', ':Acp accept' },
  reject = { 'reject-hunk', ':Acp reject' },
  next = { 'next-hunk' },
  allow = { 'allow', ':Acp allow' },
  deny = { 'deny', ':Acp deny' },
  cancel = { 'cancel', ':AcpCancel' },
}

--- Return the user's global mappings, by <Plug> name or command in lower case.
---@return table<string, string>
local function mapped_keys()
  local mapped = {}
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    local rhs = map.rhs or ''
    local target = rhs:match('^<Plug>%(acp%-(.+)%)$')
      or rhs:lower():match('^<?c?m?d?>?:?(acp.-)<cr>$')
    local key = not map.lhs:match('^<Plug>')
    if target and key then mapped[target] = vim.fn.keytrans(map.lhsraw or map.lhs) end
  end
  return mapped
end

--- Return the spelling of a key of a window.
---@param key { [1]: string, [2]: string, [3]: string }
local function window_key(key)
  for _, mapping in ipairs(require('acp.ui.keymaps').list(key[1])) do
    if mapping.action == key[2] and vim.tbl_contains(mapping.modes, key[3]) then
      return require('acp.ui.key_names').expand(mapping.key)
    end
  end
end

--- Return the keys or commands, by the tutor's names (`acp_nvim/tutor/keys.py`).
---@return table<string, string>
function M.keys()
  local keys, maps = {}, mapped_keys()
  for name, global in pairs(GLOBAL) do
    local command = global[2]
    keys[name] = maps[global[1]] or command and (maps[command:sub(2):lower()] or command)
  end
  for name, key in pairs(LOCAL) do
    keys[name] = window_key(key) or keys[name]
  end
  return keys
end

return M
