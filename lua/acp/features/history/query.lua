--- History for the user's own pickers (`:help acp.history()`). The host answers asynchronously.
local M = {}

---@class acp.HistoryItem
---@field id integer
---@field label string
---@field title string
---@field agent string
---@field cwd string
---@field updated number seconds since 1970
---@field line string line that contains the words
---@field preview string[]

---@class acp.HistoryQuery
---@field search? string words; nil for all sessions
---@field preview? integer id of the session to return as Markdown
---@field open? integer
---@field continue? integer
---@field export? integer
---@field delete? integer

--- Search the history, or act on a session.
---@param query acp.HistoryQuery
---@param on_reply? fun(reply: acp.HistoryItem[]|string[])
function M.ask(query, on_reply)
  local host = require('acp.base.host')
  for _, action in ipairs({ 'open', 'continue', 'export', 'delete' }) do
    if query[action] then
      return host.notify('history_do', { record = query[action], action = action })
    end
  end
  host.notify('history_ask', {
    id = require('acp.base.host.replies').expect(on_reply),
    search = query.search,
    preview = query.preview,
    cwd = require('acp.base.places').cwd(),
  })
end

--- Offer the last session of this directory, if a history exists.
---@return true|nil offered
function M.offer_last()
  local database = vim.fn.stdpath('data') .. '/acp/history.db'
  if not require('acp.config').get().history.enabled or not vim.uv.fs_stat(database) then return end
  require('acp.ui.report').allow_focus()
  require('acp.ui.subcommand').notify('last_chat', { cwd = require('acp.base.places').cwd() })
  return true
end

return M
