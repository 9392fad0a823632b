local ffi, room = require('ffi'), ...
pcall(
  ffi.cdef,
  [[
  typedef void (*acp_handler)(int);
  acp_handler signal(int, acp_handler);
  struct acp_limit { unsigned long soft, hard; };
  int setrlimit(int, const struct acp_limit *);
]]
)
ffi.C.signal(25, ffi.cast('acp_handler', 1)) -- SIGXFSZ, SIG_IGN
local limit = ffi.new('struct acp_limit', room or -1, -1)
assert(ffi.C.setrlimit(1, limit) == 0) -- RLIMIT_FSIZE
