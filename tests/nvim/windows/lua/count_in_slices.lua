--- Start a job of 100 steps of 1 ms each in time slices. Return the function that cancels it.
local slices = require('acp.base.slices')
_G.steps, _G.result = 0, nil
local function step()
  local stop = vim.uv.hrtime() + 1e6
  while vim.uv.hrtime() < stop do
  end
  _G.steps = _G.steps + 1
  slices.check()
end
_G.cancel = slices.run(function()
  for _ = 1, 100 do
    step()
  end
  return 'done'
end, function(result) _G.result = result end)
