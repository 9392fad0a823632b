--- Forms from agents.
---@type acp.Feature
return {
  windows = { 'form' },
  frame = {
    form = { 'view', 'open' },
    form_problems = { 'view', 'show_problems' },
    form_review = { 'view', 'review' },
    form_closed = { 'view', 'on_closed' },
  },
  signals = { form_here = { 'view', 'current', if_loaded = true } },
}
