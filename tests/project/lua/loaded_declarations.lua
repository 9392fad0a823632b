--- Note the features whose declarations are loaded when the host is started.
local jobstart = vim.fn.jobstart
function vim.fn.jobstart(...)
  local names = {}
  for name in pairs(package.loaded) do
    names[#names + 1] = name:match('^acp%.features%.([a-z]+)$')
  end
  _G.at_start = _G.at_start or names
  return jobstart(...)
end
