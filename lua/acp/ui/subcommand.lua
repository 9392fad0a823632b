--- Type of the subcommands of `:Acp`, and helpers that they share.
local M = {}

---@class acp.Subcommand
---@field run fun(args: string[], opts: table) `opts` are Neovim's, plus `rest`: the text as typed
---@field values? fun(args: string[], lead: string): string[] valid values for the next argument
---@field strict? boolean whether any other value is an error, if valid values are known
---@field nouns? string[] names of its arguments for that error
---@field list? string subcommand that lists the valid values; default itself
---@field bang? boolean whether it accepts `!`
---@field paths? boolean whether its arguments are paths; these and its `values` stay quoted
---@field max? integer maximum number of arguments, 0 by default; -1 for any

--- Send a verb to the host for the user. Watch the keys typed from now on, because the host may
--- answer with a dialog.
---@param args? table
function M.notify(verb, args)
  require('acp.buffers.typed_keys').on_requested()
  require('acp.base.host').notify(verb, args)
end

--- Return a subcommand with one argument, which is one of a list of `acp.base.valid_names`.
---@param names string name of the list
---@param noun string|nil name of the argument for an error
---@param run fun(args: string[], opts: table)
---@return acp.Subcommand
function M.one_of(names, noun, run)
  return { max = 1, nouns = { noun }, values = M.names_of(names), strict = true, run = run }
end

---@param list string[]
---@return fun(args: string[]): string[]
function M.first_argument(list)
  return function(args) return #args == 0 and list or {} end
end

---@return fun(args: string[], lead: string): string[]
function M.names_of(name)
  return function(args, lead)
    return #args == 0 and require('acp.base.valid_names')[name](lead) or {}
  end
end

--- Return the absolute path that an argument names.
---@param word string|nil
---@return string|nil
function M.absolute(word) return word and require('acp.base.paths').resolve_typed(word) or nil end

--- Wrap a subcommand so that it shows a message if the host is not running, instead of starting it.
---@param message string name of the message
---@param fn fun(args: string[], opts: table)
---@return fun(args: string[], opts: table)
function M.when_running(message, fn)
  return function(args, opts)
    if require('acp.base.host').is_running() then
      fn(args, opts)
    else
      require('acp.base.notify').show('info', message)
    end
  end
end

--- Wrap a subcommand about data that outlives the host. It shows a message only if nothing was
--- stored and the host is not running.
---@param fn fun(args: string[], opts: table)
---@return fun(args: string[], opts: table)
function M.when_stored(message, fn)
  return function(args, opts)
    local has_stored = require('acp.base.workspaces').ask()
    local has_sessions = next(require('acp.base.state').get().sessions) ~= nil
    if has_stored or has_sessions then
      fn(args, opts)
    else
      M.when_running(message, fn)(args, opts)
    end
  end
end

--- Wrap a subcommand whose result is shown in a window, so that the window may take the focus.
---@param fn fun(args: string[], opts: table)
---@return fun(args: string[], opts: table)
function M.with_report(fn)
  return function(args, opts)
    require('acp.ui.report').allow_focus()
    fn(args, opts)
  end
end

return M
