--- Tools for agents, from the editor and the user.
---@type acp.Feature
return {
  signals = {
    setup = function(args)
      require('acp.features.tools.packs').watch()
      local user_tools = package.loaded['acp.features.tools.user_tools']
      args.user_tools = user_tools and user_tools.for_host() or {}
    end,
  },
  functions = { tool = { 'user_tools', 'register' } },
}
