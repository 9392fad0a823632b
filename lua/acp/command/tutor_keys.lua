--- The keys by which this user does what the tutor's tour is about, so that it names them.
local M = {}

--- Name -> the window in which the key acts, its action, and in which mode it is typed.
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

--- Name -> the <Plug> map, and what does it without a key.
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

--- What the user has mapped, by what it does.
---@return table<string, string>
local function mapped()
  local found = {}
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    local rhs = map.rhs or ''
    local does = rhs:match('^<Plug>%(acp%-(.+)%)$')
      or rhs:lower():match('^<?c?m?d?>?:?(acp.-)<cr>$')
    local key = not map.lhs:match('^<Plug>')
    if does and key then found[does] = vim.fn.keytrans(map.lhsraw or map.lhs) end
  end
  return found
end

---@param key { [1]: string, [2]: string, [3]: string }
local function typed(key)
  for _, one in ipairs(require('acp.ui.keymaps').list(key[1])) do
    if one.action == key[2] and vim.tbl_contains(one.modes, key[3]) then
      return require('acp.ui.key_names').spelled(one.key)
    end
  end
end

--- Keys as one types them, by the tutor's names (`acp_nvim/tutor/keys.py`).
---@return table<string, string>
function M.keys()
  local found, maps = {}, mapped()
  for name, way in pairs(GLOBAL) do
    local command = way[2]
    found[name] = maps[way[1]] or command and (maps[command:sub(2):lower()] or command)
  end
  for name, key in pairs(LOCAL) do
    found[name] = typed(key) or found[name]
  end
  return found
end

return M
