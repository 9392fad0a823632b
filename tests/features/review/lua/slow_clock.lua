local now = 0
vim.uv.hrtime = function() -- a tenth of a millisecond whenever somebody looks
  now = now + 1e5
  return now
end
