--- A prompt on its way to the host is not lost: until the host has it, it can come back.
local M = {}

---@class acp.Unconfirmed
---@field n integer
---@field text string

--- What was sent and the host has not said it has, oldest first.
local unconfirmed = {} ---@type acp.Unconfirmed[]
local watching = false

--- The host is gone: what it never took goes back into the composers.
function M.host_gone()
  local lost = unconfirmed
  unconfirmed = {}
  for i = #lost, 1, -1 do
    require('acp.composer').give_back(lost[i].n, lost[i].text)
  end
end

--- The snapshot changed: a host that runs has taken what was sent before; one that is gone has
--- not.
local function on_state()
  local host = require('acp.state').get().host
  if host == 'running' then
    unconfirmed = {}
  elseif host ~= 'starting' and #unconfirmed > 0 then
    M.host_gone()
  end
end

local function watch()
  if watching then
    return
  end
  watching = true
  vim.api.nvim_create_autocmd('User', {
    group = vim.api.nvim_create_augroup('acp.delivery', {}),
    pattern = 'AcpState',
    callback = on_state,
  })
end

--- A prompt was handed over: it comes to composer `n` unless the host takes it.
---@param n integer
---@param text string
function M.sent(n, text)
  watch()
  unconfirmed[#unconfirmed + 1] = { n = n, text = text }
end

--- Hand over a prompt that was not written in a composer; a text that the host cannot take goes
--- into composer `n`.
---@param n integer
---@param args table of the verb `prompt`
function M.prompt(n, args)
  if require('acp.host').notify('prompt', args) then
    if args.text then
      M.sent(n, args.text)
    end
    require('acp.media').remove(n)
  elseif args.text then
    require('acp.composer').give_back(n, args.text)
  end
end

return M
