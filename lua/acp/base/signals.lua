--- Signals: calls of functions that the caller may not require, because they are in a higher folder
--- or in another feature. The declarations of features (`acp.features`) name the listeners.
---
--- Keys and options
---   window_actions (window)                  return the actions of a kind of window
---   key_pressed (window, action, bufnr, n)   a key was pressed in one of the plugin's windows
---   options_changed ()                       `setup()` was called
---   options_wrong (mistakes)                 `setup()` had mistakes, one line each
---   snapshot (state)                         listeners add to the result of `state()`
--- Host
---   setup (args)                             options go to the host; listeners add their own
---   host_starts (args)                       arguments of the first `setup` of a host
---   past (past)                              state of earlier hosts; listeners add their own
---   verb_goes ()                             a verb that reports no buffer change is being sent
---   host_exited (message)                    the host has exited
---   is_installing ()                         return whether `:Acp install` is running
--- Chats and composers
---   chat_wanted (n)                          show chat n and go there
---   chat_missing ()                          there is no chat; return whether another was offered
---   chat_replaced (old, new, by_user)        the window of chat `old` shows chat `new`; by_user is
---                                            whether the user asked for that
---   chat_opened (n)                          a window was opened for chat n
---   chat_hides (n)                           the user hides chat n in this tab page
---   chat_shown (n)                           the user has shown chat n again
---   picture_seen (chat, row, where)          the row of an image is being drawn; `where` is the
---                                            position of its content block
---   composer_wanted (n)                      go to the composer of session n
---   composer_opens (n)                       return whether a draft was restored into it
---   composer_shown (n)                       the composer of session n gets a window
---   attached (n)                             the attachments of composer n have changed
--- Prompts
---   prompt_wanted (text, opts)               send a prompt
---   prompt_written (n, text)                 the user has sent the text of composer n
---   prompts_wanted ()                        return the prompts that a composer can insert
---   prompt_text_wanted (name, done)          call `done` with the text of such a prompt
---   lines_chosen (bufnr, first, last)        return a range for `prompt_wanted`; it follows edits
---   prompt_context (text)                    return arguments of the verb `prompt` for a text
---   prompt_typed (n)                         `:AcpPrompt` has sent a prompt to session n
---   prompt_goes ()                           a prompt is being sent to the host
---   prompt_sent (id)                         the host has sent a prompt to its agent
---   prompt_comes_back (n, text, paths, ranges)   a prompt could not be sent
---   cancel_here ()                           cancel work at the cursor; return whether any
---   cancel_pressed (n)                       cancel the turn of session n
--- Texts that outlive Neovim
---   draft_changed ()                         the user changed a draft
---   unsent_changed ()                        prompts or remarks were added, sent or queued
---   drafts_wanted ()                         restore the drafts of this directory
---   remarks_to_store ()                      return the remarks on hunks, by directory
---   remarks_restored (cwd, remarks)          an earlier Neovim has stored remarks
--- Questions
---   question_always (id, alone, amended)     the user allows it always; return whether this is
---                                            done if the agent has no option for that (`alone`)
---   question_card (id)                       return the card of a pending question
---   question_for_command ()                  return the question that a command answers now, or
---                                            show why there is none
---   question_for_key ()                      return the question under the cursor if a key may
---                                            answer it now, or show why not
---   question_here ()                         return the question under the cursor
---   question_at_cursor ()                    return the question whose card in a chat or in the
---                                            overview is there
---   question_at_row (chat, row)              return the question whose card has a row of a chat
---   question_shown ()                        return the question whose edits this window shows
---   question_option_clicked (i)              the user chooses option `i` of the question under the
---                                            cursor
---   question_answered (id)                   the user has answered the question
---   question_answerable (id)                 return whether a key may answer the question now
---   question_amended (id)                    return the text to which the user changed its edits
---   question_keys (id, room)                 return the text below its card
---   question_announced (session, message, shown)   a question has arrived; `shown` is whether
---                                            Neovim shows the message
---   register_typed (is_expr)                 return whether a register precedes the key pressed
---   questions_changed ()                     the texts below the cards have changed
---   questions_in_rows (bufnr, first, last)   return the whole cards in these rows of a buffer
---   questions_drawn ()                       a window other than the float draws other cards
---   question_fitted (id, width, rows)        return the lines of its card, cut to these rows
---   review_wanted (id)                       show the edits of a question side by side
---   form_here ()                             return the question of the form in this window
--- Edits
---   hunks_changed (path, bufnr, hunks)       the pending hunks of a file in a buffer changed;
---                                            nil if some or some of their lines are left out
---   lines_shown (session, path, line)        an agent shows lines of a file to the user
local M = {}

local listeners = {} ---@type table<string, function[]>
local declared ---@type (fun(name: string): function[])|nil

---@param listener function
function M.on(name, listener)
  listeners[name] = listeners[name] or {}
  table.insert(listeners[name], listener)
end

--- Set the function that returns the listeners that features declare for a signal.
---@param source fun(name: string): function[]
function M.declare(source) declared = source end

--- Call the listeners: those of `on` first, then those of features.
---@param ... any
---@return any result of the last listener that returned one
function M.emit(name, ...)
  local result
  for _, list in ipairs({ listeners[name] or {}, declared and declared(name) or {} }) do
    for i = 1, #list do
      local value = list[i](...)
      if value ~= nil then result = value end
    end
  end
  return result
end

return M
