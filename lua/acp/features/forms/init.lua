--- Forms from agents.
---@type acp.Feature
return {
  windows = { 'form' },
  frame = {
    form = { 'view', 'open' },
    form_problems = { 'view', 'problems' },
    form_review = { 'view', 'review' },
    form_closed = { 'view', 'closed' },
  },
  signals = { form_here = { 'view', 'current', if_loaded = true } },
}
