--- The subcommand `:Acp ask`.

---@type table<string, acp.Subcommand>
return {
  ask = {
    max = 1,
    values = function(args)
      return #args == 0 and require('acp.features.library.prompts').names() or {}
    end,
    run = function(args, opts)
      local ask, range = require('acp.features.library.ask'), nil
      if (opts.range or 0) > 0 then
        range = { bufnr = vim.api.nvim_get_current_buf(), first = opts.line1, last = opts.line2 }
      end
      if args[1] then
        ask.send(args[1], range)
      else
        ask.choose(range)
      end
    end,
  },
}
