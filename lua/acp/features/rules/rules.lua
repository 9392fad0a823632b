--- The list of rules, and the offer of a rule from a question.
local M = {}

local function notify(verb, args) require('acp.ui.subcommand').notify(verb, args) end

--- Return the working directory, for a list without a session.
local function cwd() return vim.fn.getcwd() end

--- Show the rules in force.
function M.list() notify('rules', { cwd = cwd() }) end

--- Remove the rule under the cursor.
function M.remove()
  local line = vim.api.nvim_get_current_line()
  notify('forget_rule', { line = line, cwd = cwd() })
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
