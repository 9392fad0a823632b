--- Questions from agents, with a float of those that are pending, and their answers.
---@param kind string of options
local function first(kind)
  return function() require('acp.features.permissions.decide').answer_oldest(kind) end
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
    snapshot = { 'answer_rule', 'annotate', if_loaded = true },
    question_keys = { 'legend', 'text_below_card' },
    question_card = { 'cards', 'get' },
    question_fitted = { 'other_windows', 'card' },
    questions_drawn = { 'answer_rule', 'on_drawn', if_loaded = true },
    question_here = { 'float', 'here' },
    question_for_command = { 'answer_rule', 'oldest' },
    question_for_key = { 'decide', 'question_at_cursor' },
    question_option_clicked = { 'decide', 'answer_with_option' },
    register_typed = { 'pressed_keys', 'is_register_typed', if_loaded = true },
    question_answered = { 'pressed_keys', 'on_answered' },
    question_answerable = { 'answer_rule', 'may_answer' },
  },
}
