--- The text of an empty composer: the agent that the prompt is for, and the key that sends.
local M = {}

--- The session is named by its number, that of its chat, where it is not the only one.
local function which(n)
  local open = 0
  for _, session in pairs(require('acp.base.state').get().sessions) do
    local takes_prompts = session.status ~= 'closed' and not session.parent
    open = open + (takes_prompts and 1 or 0)
  end
  return open > 1 and (', session %d'):format(n) or ''
end

---@param new boolean whether the next prompt opens a new session
---@return string
function M.text(n, new)
  local session = require('acp.base.state').get().sessions[n]
  local agent = session and session.agent or require('acp.base.valid_names').agent()
  local how = { ':w sends' }
  for _, key in ipairs(require('acp.ui.keymaps').list('composer')) do
    if key.action == 'send' and vim.tbl_contains(key.modes, 'i') then
      how = { key.key .. ' sends' }
    elseif key.action == 'help' then
      how[2] = key.key .. ' shows keys'
    end
  end
  if new or not session then
    return ('prompt for a new session with %s: %s'):format(agent, table.concat(how, ', '))
  end
  return ('prompt for %s%s: %s'):format(agent, which(n), table.concat(how, ', '))
end

return M
