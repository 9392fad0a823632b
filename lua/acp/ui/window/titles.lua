--- Titles of acp windows in statuslines: `Tutor · chat`, `Tutor · plan 2`.
local M = {}

local api = vim.api
local state = require('acp.base.state')
local literal, set = require('acp.ui.win').literal, require('acp.ui.win').set

--- Kinds of buffers that belong to a session: `acp://{kind}/{n}`, perhaps with more after it.
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

--- Return whether several sessions take prompts. If so, titles contain their numbers.
---@return boolean
function M.several()
  local open = 0
  for _, session in pairs(state.get().sessions) do
    local takes_prompts = session.status ~= 'closed' and not (session.parent or session.purpose)
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

--- Return the title of an acp buffer, nil for other buffers.
---@param name string buffer name
---@return string|nil
function M.of(name)
  local kind, rest = name:match('^acp://([%a-]+)/?(.*)$')
  if not kind then return nil end
  local n = OF_SESSION[kind] and tonumber(rest:match('^%d+'))
  if n then return of_session(kind, n) end
  if kind == 'log' then return require('acp.ui.activity').agent(rest) .. ' · log' end
  return (kind:sub(1, 1):upper() .. kind:sub(2):gsub('-', ' '))
end

--- Return the name in the statusline that is being drawn. Neovim truncates after a title but before
--- a path. A split of an acp window has its 'statusline' but not its variables, and may show a
--- file.
---@return string
function M.item()
  local name = vim.fn.bufname()
  local title = vim.startswith(name, 'acp://') and (vim.w.acp_title or M.of(name))
  if not title then return '%<%f' end
  return literal(require('acp.base.notify').one_line(title)) .. '%<'
end

--- Statusline item for the name and the place of truncation.
local NAME = "%{%v:lua.require'acp.ui.window.titles'.item()%}"

--- Neovim's statusline for an empty option.
local LINE = '%<%f %h%w%{&modified ? "[+]" : ""}%r%=%-14.(%l,%c%V%) %P'

--- Line and column in Neovim's statuslines, as a pattern.
local POSITION = vim.pesc('%-14.(%l,%c%V%) ')

--- Return the default statusline with the title in place of `%f`, nil if it has no `%f`. Leave out
--- line and column, since narrow windows have no room for both.
---@param default string value of the option
local function with_title(default)
  local before, after = (default == '' and LINE or default):match('^(.-)%%f(.*)$')
  return before and before:gsub('%%<$', '') .. NAME .. after:gsub(POSITION, '')
end

--- Show a title in the 'statusline' of an acp window in place of the buffer's name, unless the user
--- has set a 'statusline'. If the user's 'winbar' has the name, show the title there, too.
---@param title? string derived from the buffer's name by default
function M.set_title(win, title)
  if title then vim.w[win].acp_title = title end
  local default = api.nvim_get_option_info2('statusline', {}).default
  local line = vim.go.statusline == default and with_title(default)
  if line then set(win, 'statusline', line) end
  local bar, own = vim.go.winbar, { scope = 'local', win = win }
  if bar:find('%f', 1, true) and api.nvim_get_option_value('winbar', own) == '' then
    set(win, 'winbar', (bar:gsub('%%f', function() return NAME end)))
  end
end

--- Reset the 'statusline' and 'winbar' of a window to the global ones, if they have a title.
function M.reset_title(win)
  vim.w[win].acp_title = nil
  for _, name in ipairs({ 'statusline', 'winbar' }) do
    local own = api.nvim_get_option_value(name, { scope = 'local', win = win })
    if own:find(NAME, 1, true) then set(win, name, '') end
  end
end

return M
