--- Prompts that were queued when an earlier Neovim ended. The user decides when they are sent. They
--- move to the queue of the first session in their directory, on hold; until then they are kept
--- here.
local M = {}

---@class acp.HeldPrompt: acp.StoredPrompt
---@field id integer
---@field cwd string

local list = {} ---@type acp.HeldPrompt[]

local function report_change() require('acp.base.signals').emit('unsent_changed') end

--- Return the prompts that no session has.
---@return acp.HeldPrompt[]
function M.list() return list end

---@return boolean
function M.any() return #list > 0 end

---@param prompt acp.StoredPrompt
---@return acp.HeldPrompt
local function record(cwd, prompt)
  return {
    id = require('acp.features.prompts.delivery').new_id(),
    cwd = cwd,
    text = prompt.text,
    paths = prompt.paths,
    ranges = prompt.ranges,
  }
end

--- Return the arguments of the verbs `prompt` and `queue` for a prompt.
---@param prompt acp.HeldPrompt
local function args_of(prompt)
  local context = require('acp.features.prompts.context')
  local chips = vim.tbl_map(require('acp.features.prompts.chips').from_saved, prompt.ranges or {})
  local args = context.prompt(prompt.text, chips, nil, prompt.paths, { prompt.text })
  args.cwd, args.delivery = prompt.cwd, prompt.id
  return args
end

--- Return an open session in a directory, preferably the current one.
---@return integer|nil n
local function session_in(cwd)
  local state = require('acp.base.state').get()
  local function fits(n)
    local session = state.sessions[n]
    local is_open = session and (session.status == 'idle' or session.status == 'running')
    return is_open and session.cwd == cwd and not session.parent and not session.purpose
  end
  if state.host ~= 'running' or fits(state.current) then
    return state.host == 'running' and state.current or nil
  end
  local numbers = vim.tbl_filter(fits, vim.tbl_keys(state.sessions))
  table.sort(numbers)
  return numbers[1]
end

--- Move each prompt to a session in its directory, if there is one.
function M.move_to_sessions()
  if #list == 0 then return end
  local left, by_session = {}, {} ---@type acp.HeldPrompt[], table<integer, table[]>
  for _, prompt in ipairs(list) do
    local n = session_in(prompt.cwd)
    if n then
      by_session[n] = by_session[n] or {}
      table.insert(by_session[n], prompt)
    else
      left[#left + 1] = prompt
    end
  end
  list = left
  for n, prompts in pairs(by_session) do
    require('acp.features.prompts.delivery').hold(n, vim.tbl_map(args_of, prompts))
  end
end

---@param prompts acp.StoredPrompt[]
function M.add(cwd, prompts)
  for _, prompt in ipairs(prompts) do
    list[#list + 1] = record(cwd, prompt)
  end
  M.move_to_sessions()
end

---@return string[]
function M.texts()
  return vim.tbl_map(function(prompt) return prompt.text end, list)
end

--- Replace the prompts with `texts`. An unchanged text keeps its attachments.
---@param texts string[]
function M.set(texts)
  local before, cwd = list, list[1] and list[1].cwd or require('acp.base.places').cwd()
  list = vim.tbl_map(function(text)
    for i, prompt in ipairs(before) do
      if vim.trim(prompt.text) == vim.trim(text) then return table.remove(before, i) end
    end
    return record(cwd, { text = text })
  end, texts)
  report_change()
end

--- Drop all prompts. Return false if there are none.
---@return boolean
function M.clear()
  local had_any = #list > 0
  list = {}
  if had_any then report_change() end
  return had_any
end

--- Send all prompts in a new session.
function M.run()
  local prompts = list
  local n = require('acp.base.state').default_session()
  if not require('acp.features.prompts.delivery').hold(n, vim.tbl_map(args_of, prompts)) then
    return
  end
  list = {}
  require('acp.base.signals').emit('prompt_goes')
  require('acp.base.host').notify('queue', { action = 'run' })
end

return M
