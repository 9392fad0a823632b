--- Plan of a session.
---@type acp.Feature
return {
  subcommands = { plan = { "show or hide the agent's plan", 'Talk', 7 } },
  frame = {
    plan = function(n, lines, spans)
      local view = 'acp.features.plan.view'
      if #lines > 0 or package.loaded[view] then require(view).set(n, lines, spans) end
    end,
  },
  signals = {
    chat_replaced = { 'view', 'replace', if_loaded = true },
    chat_hides = { 'view', 'hide', if_loaded = true },
    chat_shown = { 'view', 'show_again', if_loaded = true },
  },
}
