--- The subcommand `:Acp land`.
local subcommand = require('acp.ui.subcommand')

--- Return the numbers of the sessions that have a worktree.
---@return string[]
local function numbers()
  local found = {} ---@type string[]
  for n, session in pairs(require('acp.base.state').get().sessions) do
    if session.worktree then found[#found + 1] = tostring(n) end
  end
  table.sort(found)
  return found
end

---@type table<string, acp.Subcommand>
return {
  land = {
    max = 1,
    nouns = { 'session' },
    values = function(args) return #args == 0 and numbers() or {} end,
    bang = true,
    run = function(args, opts)
      local cwd = require('acp.base.places').place()
      local n = tonumber(args[1])
      if args[1] and not require('acp.base.state').get().sessions[n or 0] then
        local messages = require('acp.base.messages')
        require('acp.base.notify').error(messages.no_such_session:format(args[1]))
      elseif cwd then
        subcommand.notify('land', { session = n, cwd = cwd, drop = opts.bang or nil })
      end
    end,
  },
}
