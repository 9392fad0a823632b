--- Words before the commands of an agent, from the user's function (option `agents.*.via`).
local M = {}

--- Call the function with the newest session of that agent and return its words. Raise an error if
--- they are not valid.
---@param name string
---@return string[]
function M.words(name)
  local session ---@type table?
  for n, other in pairs(require('acp.base.state').get().sessions) do
    local is_newer = session == nil or n > session.n
    if other.agent == name and is_newer then
      session = vim.tbl_extend('force', vim.deepcopy(other), { n = n })
    end
  end
  session = session or { agent = name, cwd = vim.fn.getcwd() }
  local words = require('acp.config').get().agents[name].via(session)
  local mistake = require('acp.base.settings.via').via(words)
  if type(words) == 'table' and not mistake then return words end
  error('it returned no list of words', 0)
end

return M
