--- Keys of the overview.
local actions = require('acp.ui.actions')

local function act(...) return actions.call('acp.features.overview.actions', ...) end

return {
  overview = {
    open = { 'open the chat', act('open') },
    click = { 'open the chat, or choose that option', act('click') },
    send = { 'send a prompt', act('send') },
    compose = { 'go to the composer', act('compose') },
    cancel = { 'cancel the turn', act('cancel') },
    close_session = { 'close the session', act('close') },
    fold = { 'hide or show the question', act('fold') },
    next_session = { 'next session', act('go', 1) },
    previous_session = { 'previous session', act('go', -1) },
    refresh = { 'refresh', act('refresh') },
    close = { 'close the window', actions.close },
  },
}
