--- Questions of agents, with a float of those that are pending, and their answers.
---@param kind string of options
local function first(kind)
  return function() require('acp.features.permissions.decide').first(kind) end
end

---@type acp.Feature
return {
  subcommands = {
    allow = { 'allow the oldest permission once', 'Decide', 1, applies = 'asked' },
    deny = { 'deny the oldest permission once', 'Decide', 2, applies = 'asked' },
    permissions = { 'pending permissions and questions', 'Decide', 3, applies = 'asked' },
  },
  maps = {
    ['allow-always'] = first('allow_always'),
    ['deny-always'] = first('reject_always'),
  },
  windows = { 'permission' },
  frame = {
    cards = function(n, cards, more)
      local float = 'acp.features.permissions.float'
      if #cards > 0 or package.loaded[float] then require(float).set(n, cards, more) end
    end,
    cards_more = { 'float', 'set_more' },
  },
  signals = {
    host_exited = { 'float', 'clear', if_loaded = true },
    snapshot = { 'seen', 'annotate', if_loaded = true },
    question_keys = { 'legend', 'below' },
    question_card = { 'float', 'card' },
    question_fitted = { 'other_windows', 'card' },
    questions_drawn = { 'seen', 'on_drawn', if_loaded = true },
    question_here = { 'float', 'here' },
    question_for_command = { 'seen', 'oldest' },
    question_for_key = { 'decide', 'here' },
    question_answerable = { 'seen', 'may_answer' },
  },
}
