--- Keys of the racers' files in `:Acp race`.

---@param name string of a function
---@param steps 1|-1 multiplied by the count of the key
local function go(name, steps)
  return function() require('acp.features.worktrees.compare')[name](steps * vim.v.count1) end
end

local function take(name)
  return function(bufnr) require('acp.features.worktrees.compare')[name](bufnr) end
end

return {
  race = {
    take = { 'take the hunk, or those of the selection', take('take') },
    take_file = { 'take all hunks of the file', take('take_file') },
    next_racers = { 'next racers, if not all fit', go('go_to_racers', 1) },
    previous_racers = { 'previous racers', go('go_to_racers', -1) },
    next_file = { 'next file', go('go_to_file', 1) },
    previous_file = { 'previous file', go('go_to_file', -1) },
    close = { 'close the comparison', function() vim.cmd.tabclose() end },
  },
}
