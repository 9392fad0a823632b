--- Earlier prompts, those of other Neovims included, and a walk through them that loses nothing:
--- like a shell's, it keeps what was written at each step until a prompt is sent.
local M = {}

local LIMIT = 500

local sent = {} ---@type string[] oldest first
local whole = false -- those of earlier Neovims are among them
local waiting = {} ---@type fun()[]

---@class acp.Walk
---@field at integer 0 is the draft, 1 the last prompt
---@field written table<integer, string> what stands in place of the entry, where it was changed

---@return acp.Walk
function M.walk() return { at = 0, written = {} } end

--- Remember a prompt; the same one twice in a row counts once.
function M.add(text)
  if sent[#sent] ~= text then sent[#sent + 1] = text end
  if #sent > LIMIT then table.remove(sent, 1) end
end

--- Call `fn` once the prompts of earlier Neovims are there too: the host reads them when they are
--- first asked for. Where there is no host nothing is waited for.
---@param fn fun()
function M.when_whole(fn)
  local host = require('acp.base.host')
  if whole or not host.usable() or require('acp.base.state').get().host == 'failed' then
    return fn()
  end
  waiting[#waiting + 1] = fn
  if #waiting == 1 then host.notify('prompts', vim.empty_dict()) end
end

--- Whoever waited has all that there will be.
local function go_on() require('acp.base.call_all')(waiting) end

--- Frame operation: what was sent before, oldest first. Those that are known here stay where they
--- are, also for somebody who walks through them now.
---@param texts string[]
function M.told(texts)
  whole = true
  local ours = {} ---@type table<string, true>
  for _, text in ipairs(sent) do
    ours[text] = true
  end
  local before = vim.tbl_filter(function(text) return not ours[text] end, texts)
  sent = vim.list_extend(before, sent)
  go_on()
end

--- Frame operation: the user has deleted the only session in which these were sent.
---@param texts string[]
function M.forget(texts)
  local gone = {} ---@type table<string, true>
  for _, text in ipairs(texts) do
    gone[text] = true
  end
  sent = vim.tbl_filter(function(text) return not gone[text] end, sent)
end

--- The host is gone, and will not answer.
M.host_gone = go_on

--- Steps at which prompts are found, the newest first, and each text once.
---@return { at: integer, text: string }[]
function M.list()
  local list, seen = {}, {}
  for at = 1, #sent do
    local text = sent[#sent - at + 1]
    if not seen[text] then list[#list + 1] = { at = at, text = text } end
    seen[text] = true
  end
  return list
end

--- Text of a step: what was written there, else the entry itself.
---@param walk acp.Walk
local function entry(walk, at) return walk.written[at] or at > 0 and sent[#sent - at + 1] or '' end

--- The texts of a walk that stand nowhere else: the draft, and entries that were changed. That of
--- the present step comes first.
---@param walk acp.Walk
---@param present string what is written now
---@return string[]
function M.own(walk, present)
  local list = {}
  local function add(at, text)
    local own = at == 0 or text ~= sent[#sent - at + 1]
    if own and text:match('%S') then list[#list + 1] = text end
  end
  add(walk.at, present)
  for at, text in vim.spairs(walk.written) do
    if at ~= walk.at then add(at, text) end
  end
  return list
end

--- Go `by` steps to earlier (positive) or later prompts.
---@param walk acp.Walk changed
---@param by integer
---@param present string what is written now; it is kept
---@return string|nil text nil at either end
function M.step(walk, by, present)
  local at = math.min(math.max(walk.at + by, 0), #sent)
  if at == walk.at then return nil end
  walk.written[walk.at] = present
  walk.at = at
  return entry(walk, at)
end

return M
