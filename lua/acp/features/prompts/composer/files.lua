--- Files below a directory, for `@file`: listed in the background and cached.
local M = {}

local FRESH_MS = 15000
local LIMIT = 50000

---@class acp.FileList
---@field paths string[]
---@field at integer time of the last listing, ms; -1 before the first one
---@field busy boolean
---@field waiting fun()[] called once after the first listing

local lists = {} ---@type table<string, acp.FileList>

--- Programs that list files outside git repositories, best first. Each prints paths relative to its
--- directory, with a NUL after each.
local LISTERS = {
  { 'rg', '--no-config', '--files', '--null', '--hidden', '--glob', '!.git' },
  { 'fd', '--type', 'f', '--print0', '--hidden', '--exclude', '.git' },
  { 'find', '.', '-name', '.git', '-prune', '-o', '-type', 'f', '-print0' },
}

local function parse(output)
  local paths = {}
  for path in output:gmatch('%Z+') do
    paths[#paths + 1] = (path:gsub('^%./', ''))
    if #paths == LIMIT then break end
  end
  table.sort(paths)
  return paths
end

---@param list acp.FileList
local function finish(list, paths)
  list.paths, list.at, list.busy = paths, vim.uv.now(), false
  require('acp.features.prompts.call_all')(list.waiting)
end

--- Run the listers in turn until one succeeds.
---@param list acp.FileList
local function try(cwd, list, i)
  local argv = LISTERS[i]
  if not argv then return finish(list, {}) end
  local env =
    require('acp.base.compat').whole_env(require('acp.features.prompts.composer.git').environment())
  local opts = { cwd = cwd, timeout = 10000, env = env, clear_env = true }
  local ended = vim.schedule_wrap(function(result)
    if result.code == 0 then
      finish(list, parse(result.stdout or ''))
    else
      try(cwd, list, i + 1)
    end
  end)
  if not pcall(vim.system, argv, opts, ended) then try(cwd, list, i + 1) end
end

--- Start a listing unless a fresh list exists. Return at once.
function M.warm(cwd)
  local list = lists[cwd] or { paths = {}, at = -1, busy = false, waiting = {} }
  lists[cwd] = list
  local fresh = list.at >= 0 and vim.uv.now() - list.at < FRESH_MS
  if not list.busy and not fresh then
    list.busy = true
    require('acp.features.prompts.composer.git').list(cwd, function(output)
      if output then
        finish(list, parse(output))
      else
        try(cwd, list, 1)
      end
    end)
  end
end

--- Call `fn` once `cwd` has been listed.
---@param fn fun()
function M.when_ready(cwd, fn)
  M.warm(cwd)
  if lists[cwd].at >= 0 then
    fn()
  else
    table.insert(lists[cwd].waiting, fn)
  end
end

--- Return the current list, relative to `cwd` and sorted.
---@return string[] paths
---@return boolean ready whether `cwd` has been listed
function M.list(cwd)
  M.warm(cwd)
  return lists[cwd].paths, lists[cwd].at >= 0
end

return M
