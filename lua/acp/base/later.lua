--- What Neovim allows in few places is done as soon as it allows all: in the callback of a timer or
--- of a process, say, hardly anything can be called (|api-fast|).

--- Call a function with what was given, as it is now. In the order of these calls.
---@param fn fun(...: any)
---@param ... any
return function(fn, ...)
  local args = vim.deepcopy(vim.F.pack_len(...))
  vim.schedule(function()
    fn(vim.F.unpack_len(args))
  end)
end
