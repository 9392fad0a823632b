return vim.iter(require('acp').state().sessions):all(function(session)
  return vim
    .iter(session.tool_calls or {})
    :all(function(call) return call.status == 'completed' or call.status == 'failed' end)
end)
