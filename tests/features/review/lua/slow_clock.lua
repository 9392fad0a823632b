local now = 0
vim.uv.hrtime = function() -- each call takes a tenth of a millisecond
  now = now + 1e5
  return now
end
