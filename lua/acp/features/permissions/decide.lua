--- Answers by keys, mappings and commands to questions that the user has seen
--- (`acp.features.permissions.answer_rule`).
local M = {}

local signals = require('acp.base.signals')

local function send(verb, args) require('acp.base.host').notify(verb, args) end

---@param options acp.PermissionOption[]
---@return string|nil optionId
local function option_of_kind(options, kind)
  local first = vim.iter(options):find(function(option) return option.kind == kind end)
  return first and first.id
end

---@param options acp.PermissionOption[]
---@return string[]
local function ids(options)
  return vim.tbl_map(function(option) return option.id end, options)
end

---@param options acp.PermissionOption[]
local function names(options) return #options > 0 and table.concat(ids(options), ', ') or 'none' end

---@param id integer|string
---@return acp.PermissionOption[]
local function options_of(id) return require('acp.features.permissions.cards').options(id) or {} end

---@param id integer|string
---@param choice string optionId
local function choose(id, choice)
  local amended = signals.emit('question_amended', id)
  require('acp.features.permissions.pressed_keys').on_answered(id)
  -- The chosen option may open a window, such as a form.
  require('acp.ui.report').allow_focus()
  send('choose', { id = id, option = choice, amended = amended })
end

---@param id integer|string
---@param kind string
local function choose_kind(id, kind)
  local options = options_of(id)
  local choice = option_of_kind(options, kind)
  local is_always = kind == 'allow_always'
    and signals.emit('question_always', id, not choice, signals.emit('question_amended', id))
  if choice then
    choose(id, choice)
  elseif not is_always then
    require('acp.base.notify').show('error', 'no_option_of_kind', kind, names(options))
  end
end

--- `:Acp allow`, `:Acp deny`: answer the oldest question, or the one whose edits or form the
--- current window shows.
---@param verb 'allow'|'deny'
---@param option? string option id
function M.command(verb, option)
  local id = require('acp.features.permissions.answer_rule').oldest()
  if not id then return end
  require('acp.features.permissions.pressed_keys').on_answered(id)
  send(verb, {
    id = id,
    option = option,
    amended = signals.emit('question_amended', id),
    form = signals.emit('form_here') == id or nil,
  })
end

--- Return the ids of the options that `:Acp allow` and `:Acp deny` accept.
---@return string[]
function M.option_ids()
  local id = require('acp.features.permissions.answer_rule').target()
  return ids(id and options_of(id) or {})
end

--- Answer the oldest question with its first option of `kind`.
---@param kind 'allow_once'|'allow_always'|'reject_once'|'reject_always'
function M.answer_oldest(kind)
  local id = require('acp.features.permissions.answer_rule').oldest()
  if id then choose_kind(id, kind) end
end

--- Return the question under the cursor. If it is over, say so and return nil.
---@return integer|string|nil id
local function here()
  local float = require('acp.features.permissions.float')
  if not float.is_over() then return float.here() end
  require('acp.base.notify').show('warn', 'question_over')
end

--- Return the question under the cursor if a key may answer it. If it has no card yet, ask the host
--- for the card.
---@return integer|string|nil id
function M.question_at_cursor()
  local id = here()
  if not id then return end
  if not require('acp.features.permissions.cards').options(id) then
    return send('bring', { id = id })
  end
  return require('acp.features.permissions.answer_rule').may_answer(id) and id or nil
end

--- Answer the question under the cursor with its first option of `kind`.
function M.answer_with_kind(kind)
  local id = M.question_at_cursor()
  if id then choose_kind(id, kind) end
end

--- Answer the question under the cursor with its option number `i`.
---@param i integer
function M.answer_with_option(i)
  local id = M.question_at_cursor()
  local options = id and options_of(id) or {}
  if id and options[i] then
    choose(id, options[i].id)
  elseif id then
    require('acp.base.notify').show(
      'error',
      'no_option',
      i,
      #options > 1 and '1-' .. #options or '1'
    )
  end
end

--- A double click in the float: answer with the option under the cursor.
function M.click()
  require('acp.ui.actions').click(function()
    local i = require('acp.features.permissions.float').option_at_cursor()
    if not i then return false end
    M.answer_with_option(i)
  end)
end

--- Open the question under the cursor, such as a form.
function M.open()
  local id = here()
  if id then
    require('acp.ui.report').allow_focus()
    send('open_decision', { id = id })
  end
end

--- Show the edits of the question under the cursor side by side.
function M.review()
  local id = here()
  if id then signals.emit('review_wanted', id) end
end

return M
