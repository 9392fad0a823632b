--- Answers to pending decisions by key: the one under the cursor, or the oldest.
local M = {}

---@param permissions acp.Permission[]
---@return string|nil optionId
local function option_of_kind(options, kind)
  local found = vim.iter(options):find(function(option) return option.kind == kind end)
  return found and found.id
end

---@param options acp.PermissionOption[]
local function names(options)
  local list = vim.tbl_map(function(option) return option.id end, options)
  return #list > 0 and table.concat(list, ', ') or 'none'
end

--- The pending decision with this id: its options, as state or card know them.
---@return acp.PermissionOption[]
local function options_of(id)
  for _, session in pairs(require('acp.base.state').get().sessions) do
    local list = vim.list_extend({}, session.permissions or {})
    for _, one in ipairs(vim.list_extend(list, session.questions or {})) do
      if one.id == id then return one.options end
    end
  end
  return require('acp.ui.question').options(id) or {}
end

local function answer(id, choice)
  local args = { id = id, choice = choice }
  local proposal = package.loaded['acp.review.proposal']
  args.amended = proposal and proposal.amended(id) or nil
  -- The answer may be to show more, a form say.
  require('acp.ui.report').expect()
  require('acp.base.host').notify('answer', args)
end

---@param options acp.PermissionOption[]
local function answer_kind(id, options, kind)
  if #options == 0 then -- it is over, or waits behind others: the host knows
    require('acp.base.host').notify('answer', { id = id, kind = kind })
    return
  end
  local choice = option_of_kind(options, kind)
  if choice then
    answer(id, choice)
  else
    local message = require('acp.base.messages').no_option_of_kind
    require('acp.base.notify').error(message:format(kind, names(options)))
  end
end

--- `:Acp allow`, `:Acp deny`: the host knows which permission is the oldest; where the user looks
--- at the edits of one, or fills in a form, that one is meant.
---@param verb 'allow'|'deny'
---@param option? string its id
function M.command(verb, option)
  local proposal = package.loaded['acp.review.proposal']
  local args = proposal and proposal.told() or {}
  args.id = args.id or require('acp.ui.form').current()
  args.option = option
  require('acp.base.host').notify(verb, next(args) and args or vim.empty_dict())
end

--- Answer the permission whose edits the user looks at, else the oldest pending one, with its first
--- option of `kind`.
---@param kind 'allow_once'|'allow_always'|'reject_once'|'reject_always'
function M.first(kind)
  local proposal = package.loaded['acp.review.proposal']
  local shown = proposal and proposal.shown()
  local permission = shown and { id = shown, options = options_of(shown) }
    or require('acp.base.valid_names').oldest()
  if permission then
    answer_kind(permission.id, permission.options, kind)
  else
    require('acp.base.notify').echo('info', require('acp.base.messages').no_permission)
  end
end

--- Answer the decision under the cursor with its first option of `kind`.
function M.kind(kind)
  local id = require('acp.ui.question').here()
  if id then answer_kind(id, options_of(id), kind) end
end

--- Open the decision under the cursor: a form to fill in.
function M.open()
  local id = require('acp.ui.question').here()
  if id then
    require('acp.ui.report').expect()
    require('acp.base.host').notify('open_decision', { id = id })
  end
end

--- Answer the decision under the cursor with its option number `i`.
---@param i integer
function M.option(i)
  local id = require('acp.ui.question').here()
  local option = id and options_of(id)[i]
  if id and option then
    answer(id, option.id)
  elseif id and #options_of(id) == 0 then
    require('acp.base.host').notify('answer', { id = id, number = i })
  elseif id then
    local message = require('acp.base.messages').no_option
    require('acp.base.notify').error(message:format(i, names(options_of(id))))
  end
end

--- Show what the decision under the cursor would write, side by side.
function M.review()
  local id = require('acp.ui.question').here()
  if id then require('acp.review.proposal').ask(id) end
end

return M
