--- The type of subcommands of `:Acp`, and helpers that many of them share.
local M = {}

---@class acp.Subcommand
---@field run fun(args: string[], opts: table) `opts` are Neovim's, and `rest`: the text as typed
---@field values? fun(args: string[], lead: string): string[] what may stand next, after `args`
---@field strict? boolean a value that is not among them is an error (when any is known)
---@field nouns? string[] what its arguments name, for that error
---@field bang? boolean it may be followed by `!`
---@field paths? boolean its arguments are paths: they stay quoted, and so are its `values`
---@field max? integer most arguments, 0 by default; -1: any
---@field need? string what is missing when there is no argument

--- Send a verb. A table without entries would arrive as a list: msgpack cannot tell.
---@param args? table
function M.notify(verb, args)
  local empty = args == nil or next(args) == nil
  require('acp.base.host').notify(verb, empty and vim.empty_dict() or args)
end

--- A subcommand of one argument, which is among the names of this list of `acp.base.valid_names`.
---@param names string
---@param noun string|nil what it names, for an error
---@param run fun(args: string[], opts: table)
---@return acp.Subcommand
function M.one_of(names, noun, run)
  return { max = 1, nouns = { noun }, values = M.known(names), strict = true, run = run }
end

---@param list string[]
---@return fun(args: string[]): string[]
function M.first(list)
  return function(args) return #args == 0 and list or {} end
end

---@return fun(args: string[], lead: string): string[]
function M.known(name)
  return function(args, lead)
    return #args == 0 and require('acp.base.valid_names')[name](lead) or {}
  end
end

--- Return the absolute path that an argument names.
---@param word string|nil
---@return string|nil
function M.absolute(word) return word and require('acp.base.paths').typed(word) or nil end

--- Nothing of this can be going on while the host does not run: say so instead of starting it.
---@param fn fun(args: string[], opts: table)
---@return fun(args: string[], opts: table)
function M.when_running(message, fn)
  return function(args, opts)
    if require('acp.base.host').running() then
      fn(args, opts)
    else
      require('acp.base.notify').echo('info', require('acp.base.messages')[message])
    end
  end
end

--- The same of what outlives host and Neovim: their death is no reason to say so.
---@param fn fun(args: string[], opts: table)
---@return fun(args: string[], opts: table)
function M.when_kept(message, fn)
  return function(args, opts)
    local kept = require('acp.base.workspaces').ask()
    if kept or require('acp.command.session_restore').any() then
      fn(args, opts)
    else
      M.when_running(message, fn)(args, opts)
    end
  end
end

--- Text that will be shown in a window, which may take the focus while the user waits.
---@param fn fun(args: string[], opts: table)
---@return fun(args: string[], opts: table)
function M.shown(fn)
  return function(args, opts)
    require('acp.ui.report').expect()
    fn(args, opts)
  end
end

return M
