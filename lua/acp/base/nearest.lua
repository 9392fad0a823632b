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

--- The name nearest to `word`: one that starts with it wins, then the smallest distance.
---@param word string
---@param names string[]
---@return string|nil
local function find(word, names)
  local best, best_cost = nil, math.huge
  for _, name in ipairs(names) do
    local cost = distance(word, name)
    if word ~= '' and vim.startswith(name:lower(), word:lower()) then cost = math.min(cost, 0.5) end
    if cost < best_cost then
      best, best_cost = name, cost
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
  return name and (", did you mean '%s'?"):format(name) or ''
end

--- One line of error: `unknown subcommand 'chta', did you mean 'chat'?`
---@param what string
---@param word string
---@param names string[]
---@return string
function M.message(what, word, names)
  return ("unknown %s '%s'%s"):format(what, word, M.hint(word, names))
end

return M
