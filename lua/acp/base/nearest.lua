--- Which valid name somebody probably meant.
local M = {}

--- Edit distance with transpositions (optimal string alignment), in bytes, case folded.
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
      local swapped = i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      if swapped then row[j] = math.min(row[j], before[j - 2] + 1) end
    end
    before, last = last, row
  end
  return last[#b]
end

--- Two names without the tables or directories that they have in common: what is left is compared.
local function own_parts(a, b)
  local at = 0
  for i = 1, math.min(#a, #b) do
    if a:byte(i) ~= b:byte(i) then break end
    if a:sub(i, i):match('[./]') then at = i end
  end
  return a:sub(at + 1), b:sub(at + 1)
end

--- What it costs to take `word` for `name`, nil where nobody would: of three characters one may be
--- wrong, and something must be right.
---@return number|nil
local function cost(word, name)
  local typed, meant = own_parts(word, name)
  if typed ~= '' and vim.startswith(meant:lower(), typed:lower()) then return 0.5 end
  local wrong = distance(typed, meant)
  local most = math.max(#typed, #meant)
  return wrong <= math.max(math.floor(most / 3), 1) and wrong < most and wrong or nil
end

--- The name nearest to `word`: one that starts with it wins, then the smallest distance.
---@param word string
---@param names string[]
---@return string|nil
local function find(word, names)
  local best, best_cost = nil, math.huge
  for _, name in ipairs(names) do
    local one = cost(word, name)
    if one and one < best_cost then
      best, best_cost = name, one
    end
  end
  return best
end

--- `, did you mean 'chat'?`, or nothing where no name is near.
---@param word string
---@param names string[]
---@return string
function M.hint(word, names)
  local name = find(word, names)
  return name and require('acp.base.messages').part_did_you_mean:format(name) or ''
end

--- Names that an error lists: more would not fit into a line.
local FEW, LONG = 6, 60

--- What there is, where nothing is near: the names themselves, or where they are to be seen.
---@param names string[]
---@param where string|nil
local function instead(names, where)
  local list = table.concat(names, ', ')
  if #names > 0 and #names <= FEW and #list <= LONG then
    return require('acp.base.messages').part_known:format(list)
  end
  return where and require('acp.base.messages').part_way:format(where) or ''
end

--- One line of error: `Unknown subcommand 'chta', did you mean 'chat'?`
---@param what string
---@param word string
---@param names string[]
---@param where? string said where no name is near: what shows all that there are
---@return string
function M.message(what, word, names, where)
  local hint = M.hint(word, names)
  hint = hint ~= '' and hint or instead(names, where)
  return require('acp.base.messages').unknown:format(what, word, hint)
end

return M
