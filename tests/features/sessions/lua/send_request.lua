local method, params, opts = ...
_G.answers = _G.answers or {}
require('acp').request(
  method,
  params,
  function(result, err) table.insert(_G.answers, { result = result, err = err }) end,
  opts
)
