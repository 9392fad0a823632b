--- A prompt on its way to the host is not lost: until the host says that it has it, it can come
--- back.
local M = {}

---@class acp.Unconfirmed
---@field id integer
---@field n integer
---@field text string

--- What was sent and the host has not said it has, oldest first.
local unconfirmed = {} ---@type acp.Unconfirmed[]
local sent = 0

--- The host is gone: what it never took goes back into the composers.
function M.host_gone()
  local lost = unconfirmed
  unconfirmed = {}
  for i = #lost, 1, -1 do
    require('acp.composer').give_back(lost[i].n, lost[i].text)
  end
end

--- Frame operation: the host has taken a prompt. What becomes of it is told as that of all others.
---@param id integer
function M.taken(id)
  unconfirmed = vim.tbl_filter(function(one)
    return one.id ~= id
  end, unconfirmed)
end

local function on_state()
  local host = require('acp.state').get().host
  if host ~= 'running' and host ~= 'starting' and #unconfirmed > 0 then
    M.host_gone()
  end
end

local watch = require('acp.once')(function()
  vim.api.nvim_create_autocmd('User', {
    group = vim.api.nvim_create_augroup('acp.delivery', {}),
    pattern = 'AcpState',
    callback = on_state,
  })
end)

--- Whether a prompt goes to a session that is there already, in a directory of its own.
---@param args table of the verb `prompt`
---@return boolean
local function housed(args)
  local state = require('acp.state').get()
  local n = args.session or state.current
  local session = n and not args.new and state.sessions[n]
  return session
      and session.id
      and session.status ~= 'closed'
      and (args.agent == nil or args.agent == session.agent)
    or false
end

--- Hand over a prompt; its text comes to composer `n` unless the host takes it.
---@param n integer
---@param args table of the verb `prompt`
---@return boolean sent
function M.send(n, args)
  if args.cwd == '' and not housed(args) and not require('acp.context').place() then
    return false
  end
  sent = sent + 1
  args.delivery = sent
  if not require('acp.host').notify('prompt', args) then
    return false
  end
  if args.text then
    watch()
    unconfirmed[#unconfirmed + 1] = { id = sent, n = n, text = args.text }
  end
  require('acp.media').remove(n)
  return true
end

--- The same for one that was not written in a composer; a text that cannot be sent goes there.
---@param n integer
---@param args table of the verb `prompt`
function M.prompt(n, args)
  if not M.send(n, args) and args.text then
    require('acp.composer').give_back(n, args.text)
  end
end

return M
