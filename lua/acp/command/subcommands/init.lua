--- Subcommands of `:Acp`, collected from their groups.
local M = {}

---@type table<string, acp.Subcommand>
M.list = {}

for _, group in ipairs({
  require('acp.command.subcommands.talk'),
  require('acp.command.subcommands.agent'),
  require('acp.command.subcommands.decide'),
  require('acp.command.subcommands.see'),
}) do
  for name, sub in pairs(group) do
    M.list[name] = sub
  end
end

--- Return the names of all subcommands, sorted.
---@return string[]
function M.names() return require('acp.base.sorted_keys')(M.list) end

return M
