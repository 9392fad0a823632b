--- Earlier prompts of this Neovim session, and a walk through them that loses nothing: like a
--- shell's, it keeps what was written at each step until a prompt is sent.
local M = {}

local LIMIT = 500

local sent = {} ---@type string[] oldest first

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

--- Text of a step: what was written there, else the entry itself.
---@param walk acp.Walk
local function entry(walk, at) return walk.written[at] or at > 0 and sent[#sent - at + 1] or '' end

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
