--- Extension requests and notifications, whose methods start with `_`.
---@type acp.Feature
return {
  frame = {
    extension = { 'handlers', 'on_notification' },
    extension_answer = { 'requests', 'on_answer' },
  },
  signals = {
    setup = function(args)
      local handlers = package.loaded['acp.features.extensions.handlers']
      args.extensions = handlers and handlers.names() or {}
    end,
    host_exited = { 'requests', 'on_host_exit', if_loaded = true },
  },
  functions = {
    on_extension = { 'handlers', 'on' },
    request = { 'requests', 'send' },
  },
}
