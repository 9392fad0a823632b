--- What windows of ours are called in statuslines: `Tutor · chat`, `Tutor · plan 2`.
local M = {}

local api = vim.api
local state = require('acp.base.state')
local literal, set = require('acp.ui.win').literal, require('acp.ui.win').set

--- Buffers of a session: `acp://{kind}/{n}`, and more behind that.
local OF_SESSION = {
  changes = true,
  chat = true,
  checkpoints = true,
  composer = true,
  content = true,
  export = true,
  plan = true,
  queue = true,
  terminal = true,
}

--- Whether there are several sessions to which one can send: their numbers tell them apart.
---@return boolean
function M.several()
  local open = 0
  for _, session in pairs(state.get().sessions) do
    local takes_prompts = session.status ~= 'closed' and not session.parent
    open = open + (takes_prompts and 1 or 0)
  end
  return open > 1
end

---@param n integer
local function of_session(kind, n)
  local session = state.get().sessions[n]
  local name = session and session.agent or require('acp.base.valid_names').agent()
  local agent = require('acp.ui.activity').agent(name)
  return ('%s · %s%s'):format(agent, kind, M.several() and ' ' .. n or '')
end

--- The title of a buffer of ours; nil where its name says enough.
---@param name string of the buffer
---@return string|nil
function M.of(name)
  local kind, rest = name:match('^acp://([%a-]+)/?(.*)$')
  if not kind then return nil end
  local n = OF_SESSION[kind] and tonumber(rest:match('^%d+'))
  if n then return of_session(kind, n) end
  if kind == 'log' then return require('acp.ui.activity').agent(rest) .. ' · log' end
  return (kind:sub(1, 1):upper() .. kind:sub(2):gsub('-', ' '))
end

--- The name in the statusline that is being drawn, which is cut behind a title and in front of a
--- path. A split of a window of ours has the same 'statusline' and none of its variables, and the
--- user may have a file in it.
---@return string
function M.item()
  local name = vim.fn.bufname()
  local title = vim.startswith(name, 'acp://') and (vim.w.acp_title or M.of(name))
  if not title then return '%<%f' end
  return literal(require('acp.base.notify').one_line(title)) .. '%<'
end

--- The name in a statusline of ours, and where that is cut.
local NAME = "%{%v:lua.require'acp.ui.titles'.item()%}"

--- As Neovim's own statusline is drawn where the option is empty, but for the name.
local LINE = '%<%f %h%w%{&modified ? "[+]" : ""}%r%=%-14.(%l,%c%V%) %P'

---@param default string of the option
local function named(default)
  local before, after = (default == '' and LINE or default):match('^(.-)%%f(.*)$')
  return before and before:gsub('%%<$', '') .. NAME .. after
end

--- Say in the 'statusline' of a window of ours what it is, in place of the buffer's name, which is
--- long or an address. Left alone where the user's statuslines are not Neovim's own.
---@param title? string default: what the buffer's name says
function M.entitle(win, title)
  if title then vim.w[win].acp_title = title end
  local default = api.nvim_get_option_info2('statusline', {}).default
  local line = vim.go.statusline == default and named(default)
  if line then set(win, 'statusline', line) end
end

--- Give it the user's again.
function M.untitle(win)
  vim.w[win].acp_title = nil
  local own = api.nvim_get_option_value('statusline', { scope = 'local', win = win })
  if own:find(NAME, 1, true) then set(win, 'statusline', '') end
end

return M
