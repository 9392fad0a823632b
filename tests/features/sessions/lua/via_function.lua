-- Set up the agent `script` with a function in option `via` that returns these words.
local options, words = ...
options.agents.script.via = function(session)
  assert(session.agent == 'script' and session.cwd == vim.fn.getcwd())
  return words
end
require('acp').setup(options)
