--- Follow-along: a window that shows the files that the agent is working on.
---@type acp.Feature
return {
  subcommands = { follow = { 'follow the agent in this window, or stop', 'Talk', 9 } },
  frame = { location = { 'window', 'show' } },
  signals = {
    lines_shown = { 'window', 'show' },
    prompt_goes = function()
      if require('acp.config').get().follow then require('acp.features.follow.window').begin() end
    end,
  },
}
