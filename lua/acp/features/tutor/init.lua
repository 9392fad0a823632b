--- Tour with the embedded agent.
---@type acp.Feature
return {
  subcommands = { tutor = { 'a three-minute tour', 'Help', 1 } },
  signals = {
    -- The tour names the user's keys.
    setup = function(args)
      local tutor = args.agents.tutor
      local is_used = args.agent == 'tutor' or package.loaded['acp.features.tutor.keys']
      if tutor and not tutor.command and is_used then
        local about = { keys = require('acp.features.tutor.keys').keys() }
        tutor.meta = vim.tbl_extend('keep', tutor.meta or {}, { ['acp.nvim'] = about })
      end
    end,
  },
}
