local watch = require('acp.buffers.watch')
local expect = watch.expect
function watch.expect(n)
  watch.expect = expect
  vim.cmd('silent write')
  return expect(n)
end
