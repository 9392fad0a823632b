local state, found = require('acp').state(), { drafts = {}, queue = {}, running = {} }
for _, draft in ipairs(require('acp.features.prompts.composer.composers').contents()) do
  found.drafts[#found.drafts + 1] = { draft.n, draft.text }
end
for n, session in pairs(state.sessions) do
  if #session.queue > 0 then found.queue[#found.queue + 1] = { n, session.queue } end
  local works = session.status == 'running' or session.status == 'cancelling'
  if works then found.running[#found.running + 1] = n end
end
found.held = require('acp.features.prompts.held_prompts').texts()
require('acp.features.prompts.delivery').when_confirmed(function() found.taken = true end)
found.current = state.current
return found
