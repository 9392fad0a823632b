--- The short string for a statusline, from the cache alone.
local M = {}

--- 12345 -> '12k'.
local function short(count)
  if count >= 1e6 then return ('%.1fM'):format(count / 1e6) end
  return count >= 1000 and ('%dk'):format(math.floor(count / 1000 + 0.5)) or tostring(count)
end

--- Such as `34k/200k`, nil when the agent has not told.
---@param session table
---@return string|nil
function M.usage(session)
  local usage = session.usage
  if usage and usage.used and usage.size == 0 then
    return short(usage.used)
  elseif usage and usage.used and usage.size then
    return short(usage.used) .. '/' .. short(usage.size)
  end
end

--- Decisions of a session that wait, those included that are not listed.
---@param session acp.Session
---@return integer
function M.asked(session)
  local count, more = 0, session.more or {}
  for _, name in ipairs({ 'permissions', 'elicitations', 'questions' }) do
    count = count + #(session[name] or {}) + (more[name] or 0)
  end
  return count
end

--- Pending hunks, each file counted once.
---@param edits acp.Edit[]
---@return integer
function M.hunks(edits)
  local seen, count = {}, 0
  for _, edit in ipairs(edits) do
    if not seen[edit.path] then
      seen[edit.path] = true
      -- A deletion, a renaming and a conflict are one thing to decide, whatever their hunks.
      count = count + math.max(edit.hunks, 1)
    end
  end
  return count
end

--- Such as `claude running +1 2? 5± 34k/200k`; '' before first use. Holds no `%`.
---@return string
function M.text()
  local state = require('acp.base.state').get()
  local session = state.current and (state.sessions or {})[state.current]
  if not session then
    return state.host ~= 'stopped' and state.host and 'acp ' .. state.host or ''
  end
  local parts = { session.agent, session.status }
  if #(session.queue or {}) > 0 then parts[#parts + 1] = '+' .. #session.queue end
  local count = #(state.elicitations or {})
  for _, one in pairs(state.sessions) do
    count = count + M.asked(one)
  end
  if count > 0 then parts[#parts + 1] = count .. '?' end
  local edits = M.hunks(require('acp.base.state').edits())
  if edits > 0 then parts[#parts + 1] = edits .. '±' end
  parts[#parts + 1] = M.usage(session)
  return (table.concat(parts, ' '):gsub('%%', ''))
end

return M
