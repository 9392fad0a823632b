--- The list of rules, and the offer of a rule from a question.
local M = {}

local function notify(verb, args) require('acp.base.host').notify(verb, args) end

--- Show the rules in force. Without a session, those of the current directory are shown.
function M.list() notify('rules', { cwd = vim.fn.getcwd() }) end

function M.remove()
  local line = vim.api.nvim_get_current_line()
  notify('forget_rule', { line = line, cwd = vim.fn.getcwd() })
end

--- Offer a rule for an action that the user has chosen to always allow.
---@param id integer|string
---@param alone boolean whether the agent has no option for that
---@param amended any text to which the user changed the edits of the question
---@return true the signal is handled
function M.offer(id, alone, amended)
  notify('offer_rule', { id = id, alone = alone, amended = amended })
  return true
end

return M
