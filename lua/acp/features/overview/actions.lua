--- Actions of the keys in the overview. A session of another Neovim cannot be changed here.
local M = {}

local emit = require('acp.base.signals').emit
local messages, notify = require('acp.base.messages'), require('acp.base.notify')
local view = require('acp.features.overview.view')

--- Return the session of this Neovim under the cursor. If there is none, show why.
---@return acp.OverviewSession|nil
local function own_session()
  local block = view.at_cursor()
  local session = block and block.session
  if not session then
    notify.show('info', 'no_session_here')
  elseif session.pid then
    notify.show('info', 'session_elsewhere', session.pid)
  else
    return session
  end
end

--- Return the session under the cursor if it is open in this Neovim. Otherwise show why it is not.
---@return acp.OverviewSession|nil
local function open_session()
  local session = own_session()
  if not session or session.state ~= 'closed' then return session end
  notify.show('info', 'session_over')
end

--- Open the chat of the session. A session whose Neovim has exited is opened again.
function M.open()
  local session = own_session()
  if not session then return end
  if session.elsewhere then
    require('acp.base.host').notify('reopen', { session = session.n })
  else
    emit('chat_wanted', session.n)
  end
end

--- A double click: choose the option of a question, or open the chat.
function M.click()
  require('acp.ui.actions').click(function()
    local option = view.option_at_cursor()
    if option then
      emit('question_option_clicked', option)
    elseif view.at_cursor() then
      M.open()
    else
      return false
    end
  end)
end

--- Return the session under the cursor if it takes prompts. Otherwise show why it does not.
---@return acp.OverviewSession|nil
local function session_to_prompt()
  local session = open_session()
  if session and session.is_closed_to_prompts then
    return notify.show('info', 'session_takes_no_prompts')
  end
  return session
end

--- Ask for a prompt and send it.
function M.send()
  local session = session_to_prompt()
  if not session then return end
  vim.ui.input({ prompt = messages.send_to:format(session.n) }, function(text)
    if text and text:match('%S') then emit('prompt_wanted', text, { session = session.n }) end
  end)
end

--- Go to the composer of the session.
function M.compose()
  local session = session_to_prompt()
  if session then emit('composer_wanted', session.n) end
end

--- Cancel the turn of the session.
function M.cancel()
  local session = open_session()
  if session then emit('cancel_pressed', session.n) end
end

function M.close()
  local session = open_session()
  if session and session.child then return notify.show('info', 'subagent_ends') end
  if session then require('acp.base.host').notify('close', { session = session.n }) end
end

--- Hide the question of the session, or show it again.
function M.fold()
  local block = view.at_cursor()
  if block then view.fold(block.key) end
end

M.go = view.go

M.refresh = view.refresh

return M
