--- Chat of a session.
---@type acp.Feature
return {
  subcommands = {
    chat = { 'show or hide the chat', 'Talk', 4 },
    export = { 'the chat as Markdown', 'Sessions', 8 },
  },
  windows = { 'chat' },
  frame = {
    chat = { 'view', 'replace' },
    text = { 'view', 'append' },
    reset_chat = { 'view', 'reset' },
    folds = { 'view', 'set_folds' },
    gather = { 'view', 'gather' },
    ungather = { 'view', 'ungather' },
    fold_open = { 'view', 'fold_open' },
    chat_turn = { 'cursor_target', 'to_turn' },
    open_chat = { 'view', 'open' },
    choose_chat = { 'view', 'choose' },
    session = { 'view', 'begin' },
  },
  signals = {
    options_changed = { 'bar', 'update', if_loaded = true },
    chat_wanted = { 'view', 'enter' },
    composer_shown = { 'view', 'open_here' },
    prompt_typed = { 'view', 'follow' },
    prompt_written = { 'view', 'follow' },
    question_at_cursor = { 'cursor_target', 'decision', if_loaded = true },
    question_at_row = { 'marks', 'question' },
    questions_changed = { 'marks', 'redraw', if_loaded = true },
    questions_in_rows = { 'marks', 'cards_in', if_loaded = true },
  },
}
