--- Actions that keys can run in the plugin's windows: window -> name in option `keymaps` ->
--- description. `acp.command.actions` has their functions.
---@type table<string, table<string, string>>
local M = {
  composer = {
    send = 'send',
    send_now = 'send now, before all that waits',
    finish = 'send and close',
    complete = 'complete /command, @file',
    cancel = 'cancel the turn',
    earlier = 'earlier prompt',
    later = 'later prompt',
    search = 'search earlier prompts',
  },
  suggestion = {
    take = 'take the suggested prompt, then the next one',
  },
  chat = {
    act = 'open, unfold or show what is under the cursor',
    compose = 'go to the composer',
    next_turn = 'next turn',
    previous_turn = 'previous turn',
    cancel = 'cancel the turn',
    stop = 'stop the tool call or the terminal here',
    close = 'close the window',
  },
  permission = {
    allow_once = 'allow once',
    allow_always = 'allow always',
    reject_once = 'reject once',
    reject_always = 'reject always',
    open = 'show all of it, or its form',
    review = 'show its edits side by side',
    close = 'close the window',
  },
  edits = {
    next_hunk = 'next hunk',
    previous_hunk = 'previous hunk',
    accept_hunk = 'accept the hunk',
    reject_hunk = 'reject the hunk',
  },
  blame = { open = 'show the prompt that wrote this line' },
  form = { choose = 'tick the box', review = 'review and send', close = 'close the window' },
  queue = { apply = 'apply your changes', close = 'close the window' },
  checkpoints = {
    changes = 'show what changed since',
    restore = 'restore what agents changed',
    restore_all = 'restore all files, yours too',
    undo = 'undo the last restore',
    refresh = 'refresh',
    close = 'close the window',
  },
  view = { close = 'close the window' },
  terminal = { close = 'close the window', stop = 'stop the command in the terminal' },
  -- The two sides of the review, then the list of files below them.
  review = {
    next_file = 'next file',
    previous_file = 'previous file',
    accept_file = 'accept the file',
    reject_file = 'reject the file',
    close = 'close the review',
    obtain = 'take the old text (reject this hunk); on the left, accept it',
    put = 'put this text on the other side (accept this hunk); on the left, reject it',
  },
  review_files = { open = 'show the file' },
}

for _, name in ipairs({ 'next_file', 'previous_file', 'accept_file', 'reject_file', 'close' }) do
  M.review_files[name] = M.review[name]
end

for _, window in ipairs({ 'composer', 'chat', 'view' }) do
  M[window].open_file = 'open the file under the cursor'
  M[window].open_file_at_line = 'open the file under the cursor at its line'
end

for i = 1, 9 do
  M.permission['option_' .. i] = 'the option of that number'
end

for _, actions in pairs(M) do
  actions.help = 'this list'
end

return M
