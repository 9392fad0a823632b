--- Suggestions of the valid name nearest to a misspelled one.
local M = {}

--- Return the edit distance with transpositions (optimal string alignment), in bytes, ignoring
--- case.
local function distance(a, b)
  a, b = a:lower(), b:lower()
  local before, last = {}, {} ---@type integer[], integer[]
  for j = 0, #b do
    last[j] = j
  end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
      local are_swapped = i > 1
        and j > 1
        and a:byte(i) == b:byte(j - 1)
        and a:byte(i - 1) == b:byte(j)
      if are_swapped then row[j] = math.min(row[j], before[j - 2] + 1) end
    end
    before, last = last, row
  end
  return last[#b]
end

--- Strip the leading tables or directories that two names share.
local function own_parts(a, b)
  local at = 0
  for i = 1, math.min(#a, #b) do
    if a:byte(i) ~= b:byte(i) then break end
    if a:sub(i, i):match('[./]') then at = i end
  end
  return a:sub(at + 1), b:sub(at + 1)
end

--- Return the distance from `word` to `name`, or nil if they are too different: one in three
--- characters may be wrong, and at least one must match. At the same distance, a name of the same
--- length is nearer: `modle` is `model`, not `mode`.
---@return number|nil
local function cost(word, name)
  local typed, valid = own_parts(word, name)
  if typed ~= '' and vim.startswith(valid:lower(), typed:lower()) then return 0.5 end
  local wrong = distance(typed, valid)
  local most = math.max(#typed, #valid)
  local is_near = wrong <= math.max(math.floor(most / 3), 1) and wrong < most
  local is_longer = vim.startswith(typed:lower(), valid:lower())
  return is_near and wrong + (is_longer and 0 or math.abs(#typed - #valid) / 100) or nil
end

--- Return the name nearest to `word`: one that starts with it, else the one at the smallest
--- distance.
---@param word string
---@param names string[]
---@return string|nil
local function find(word, names)
  local best, best_cost = nil, math.huge
  for _, name in ipairs(names) do
    local own_cost = cost(word, name)
    if own_cost and own_cost < best_cost then
      best, best_cost = name, own_cost
    end
  end
  return best
end

--- Return `, did you mean 'chat'?`, or an empty string if no name is near.
---@param word string
---@param names string[]
---@return string
function M.hint(word, names)
  local name = find(word, names)
  return name and require('acp.base.messages').part_did_you_mean:format(name) or ''
end

--- Number of names, and their total length, that fit into an error of one line.
local MAX_NAMES, MAX_LENGTH = 6, 60

--- Return the list of valid names, or `where` if they are too many.
---@param names string[]
---@param where string|nil
local function valid_names(names, where)
  local list = table.concat(names, ', ')
  if #names > 0 and #names <= MAX_NAMES and #list <= MAX_LENGTH then
    return require('acp.base.messages').part_known:format(list)
  end
  return where and require('acp.base.messages').part_way:format(where) or ''
end

--- Return an error of one line: `Unknown subcommand 'chta', did you mean 'chat'?`
---@param what string
---@param word string
---@param names string[]
---@param where? string advice on where to see all names, for when no name is near
---@return string
function M.message(what, word, names, where)
  local hint = M.hint(word, names)
  hint = hint ~= '' and hint or valid_names(names, where)
  return require('acp.base.messages').unknown:format(what, word, hint)
end

return M
