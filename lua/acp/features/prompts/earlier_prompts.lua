--- History of prompts, including those of other Neovims, and a walk through it. As in a shell, the
--- walk keeps changes to each entry until a prompt is sent.
local M = {}

local LIMIT = 500

local sent = {} ---@type string[] oldest first
local is_complete = false -- whether prompts of earlier Neovims are included
local waiting = {} ---@type fun()[]

---@class acp.Walk
---@field at integer 0 is the draft, 1 the last prompt
---@field written table<integer, string> changed text of an entry, by position

---@return acp.Walk
function M.walk() return { at = 0, written = {} } end

--- Add a prompt, unless it equals the last one.
function M.add(text)
  if sent[#sent] ~= text then sent[#sent + 1] = text end
  if #sent > LIMIT then table.remove(sent, 1) end
end

--- Call `fn` once the prompts of earlier Neovims are included. The host reads them at the first
--- request. Without a host, `fn` is called at once.
---@param fn fun()
function M.when_complete(fn)
  local host = require('acp.base.host')
  if is_complete or not host.is_usable() or require('acp.base.state').get().host == 'failed' then
    return fn()
  end
  waiting[#waiting + 1] = fn
  if #waiting == 1 then host.notify('prompts') end
end

local function run_waiting() require('acp.features.prompts.call_all')(waiting) end

--- Return the texts that are not among `others`.
---@param texts string[]
---@param others string[]
---@return string[]
local function without(texts, others)
  local left_out = {} ---@type table<string, true>
  for _, text in ipairs(others) do
    left_out[text] = true
  end
  return vim.tbl_filter(function(text) return not left_out[text] end, texts)
end

--- Frame operation: add prompts of earlier Neovims, oldest first. Known prompts keep their
--- position, which a walk may refer to.
---@param texts string[]
function M.receive(texts)
  is_complete = true
  sent = vim.list_extend(without(texts, sent), sent)
  run_waiting()
end

--- Frame operation: remove prompts that were sent only in a deleted session.
---@param texts string[]
function M.forget(texts) sent = without(sent, texts) end

--- Stop waiting for an answer from the host, which has ended.
M.on_host_exit = run_waiting

--- Return the prompts with their positions, newest first, each text once.
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

--- Return the text at a position: the changed text or the entry itself.
---@param walk acp.Walk
local function entry(walk, at) return walk.written[at] or at > 0 and sent[#sent - at + 1] or '' end

--- Return the texts that exist only in a walk: the draft and changed entries. The text at the
--- current position comes first.
---@param walk acp.Walk
---@param present string current text of the composer
---@return string[]
function M.unsent_texts(walk, present)
  local list = {}
  local function add(at, text)
    local is_own = at == 0 or text ~= sent[#sent - at + 1]
    if is_own and text:match('%S') then list[#list + 1] = text end
  end
  add(walk.at, present)
  for at, text in vim.spairs(walk.written) do
    if at ~= walk.at then add(at, text) end
  end
  return list
end

--- Go `by` steps to earlier (positive) or later (negative) prompts.
---@param walk acp.Walk changed in place
---@param by integer
---@param present string current text of the composer, which the walk keeps
---@return string|nil text nil at either end
function M.step(walk, by, present)
  local at = math.min(math.max(walk.at + by, 0), #sent)
  if at == walk.at then return nil end
  walk.written[walk.at] = present
  walk.at = at
  return entry(walk, at)
end

return M
