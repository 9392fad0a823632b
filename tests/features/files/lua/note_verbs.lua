local notify = vim.rpcnotify
_G.verbs = {}
vim.rpcnotify = function(channel, kind, verb, ...)
  if verb ~= 'journal_changed' then table.insert(_G.verbs, verb) end -- the host writes at any time
  return notify(channel, kind, verb, ...)
end
