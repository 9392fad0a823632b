--- Keys of a chat.
local actions = require('acp.ui.actions')

local function at_cursor(...) return actions.call('acp.features.chat.cursor_target', ...) end

--- Return an action that another feature has.
---@param name string signal
local function signal(name)
  return function(_, n) require('acp.base.signals').emit(name, n) end
end

---@param at_line boolean
local function open_file(at_line)
  return function(_, n) require('acp.features.chat.cursor_target').open_file(at_line, n) end
end

return {
  chat = {
    act = { 'open, unfold or show what is under the cursor', at_cursor('act') },
    click = { 'open what is there, or choose that option', at_cursor('click') },
    compose = { 'go to the composer', signal('composer_wanted') },
    next_turn = { 'next turn', at_cursor('go', 1) },
    previous_turn = { 'previous turn', at_cursor('go', -1) },
    cancel = { 'cancel the turn', signal('cancel_pressed') },
    stop = { 'stop the tool call or the terminal here', at_cursor('stop') },
    open_file = { actions.open_file[1], open_file(false) },
    open_file_at_line = { actions.open_file_at_line[1], open_file(true) },
    close = {
      'close the window',
      function(_, n) require('acp.features.chat.view').close(n) end,
    },
  },
}
