--- The history for pickers of the user's own (`:help acp.history()`): questions to the host, which
--- answers later.
local M = {}

---@class acp.HistoryItem
---@field id integer
---@field label string
---@field title string
---@field agent string
---@field cwd string
---@field updated number seconds since 1970
---@field line string where the words were found
---@field preview string[]

---@class acp.HistoryQuery
---@field search? string words; none: all sessions
---@field preview? integer the chat of that id, as Markdown
---@field open? integer
---@field continue? integer
---@field export? integer
---@field delete? integer

--- Ask, or do something with a session.
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
    id = require('acp.base.replies').expect(on_reply),
    search = query.search,
    preview = query.preview,
    cwd = require('acp.ui.composer.places').cwd(),
  })
end

return M
