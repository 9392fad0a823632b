--- Notifications of turns that end and of questions, while Neovim does not have the focus.
---@type acp.Feature
return {
  signals = {
    host_starts = { 'turns', 'watch' },
    question_announced = { 'questions', 'on_announced' },
  },
}
