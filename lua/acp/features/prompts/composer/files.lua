--- Files and folders below a directory, for `@file`: listed in the background and cached.
local M = {}

local FRESH_MS = 15000
local LIMIT = 50000

---@class acp.FileList
---@field paths string[] sorted; those of folders end with `/`
---@field known table<string, true> the same paths
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

--- Return the files of a lister's output and their folders, sorted, with a NUL after each. This
--- runs in a thread, so it has no upvalues.
---@param output string
---@param limit integer
---@return string
local function parse(output, limit)
  local paths, folders = {}, {}
  for path in output:gmatch('%Z+') do
    path = path:gsub('^%./', '')
    paths[#paths + 1] = path
    local folder = path:match('^(.*/)')
    while folder and not folders[folder] do
      folders[folder] = true
      folder = folder:match('^(.*/)[^/]+/$')
    end
    if #paths == limit then break end
  end
  for folder in pairs(folders) do
    paths[#paths + 1] = folder
  end
  table.sort(paths)
  return table.concat(paths, '\0')
end

--- Replace a list with the output of a lister.
---@param list acp.FileList
---@param output string
local function finish(list, output)
  local slices = require('acp.base.slices')
  local function read(joined)
    local paths, known = {}, {}
    for path in joined:gmatch('%Z+') do
      paths[#paths + 1] = path
      known[path] = true
      if #paths % 500 == 0 then slices.check() end
    end
    list.paths, list.known, list.at, list.busy = paths, known, vim.uv.now(), false
    require('acp.features.prompts.call_all')(list.waiting)
  end
  local function on_parsed(joined)
    slices.run(function() read(joined) end)
  end
  vim.uv.new_work(parse, vim.schedule_wrap(on_parsed)):queue(output, LIMIT)
end

--- Run the listers in turn until one succeeds.
---@param list acp.FileList
local function try(cwd, list, i)
  local argv = LISTERS[i]
  if not argv then return finish(list, '') end
  local env =
    require('acp.base.compat').whole_env(require('acp.features.prompts.composer.git').environment())
  local opts = { cwd = cwd, timeout = 10000, env = env, clear_env = true }
  local ended = vim.schedule_wrap(function(result)
    if result.code == 0 then
      finish(list, result.stdout or '')
    else
      try(cwd, list, i + 1)
    end
  end)
  if not pcall(vim.system, argv, opts, ended) then try(cwd, list, i + 1) end
end

--- Start a listing unless a fresh list exists. Return at once.
function M.warm(cwd)
  local list = lists[cwd] or { paths = {}, known = {}, at = -1, busy = false, waiting = {} }
  lists[cwd] = list
  local is_fresh = list.at >= 0 and vim.uv.now() - list.at < FRESH_MS
  if not list.busy and not is_fresh then
    list.busy = true
    require('acp.features.prompts.composer.git').list(cwd, function(output)
      if output then
        finish(list, output)
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

--- Return the current list, relative to `cwd` and sorted. Paths of folders end with `/`.
---@return string[] paths
---@return boolean ready whether `cwd` has been listed
function M.list(cwd)
  M.warm(cwd)
  return lists[cwd].paths, lists[cwd].at >= 0
end

--- Return the listed buffers, those with unsaved changes first, then by their last use.
---@return vim.fn.getbufinfo.ret.item[]
local function buffers()
  local listed = vim.fn.getbufinfo({ buflisted = 1 })
  table.sort(listed, function(first, other)
    if first.changed ~= other.changed then return first.changed > other.changed end
    if first.lastused ~= other.lastused then return first.lastused > other.lastused end
    return first.bufnr < other.bufnr
  end)
  return listed
end

--- Get the prompts of earlier Neovims, for the next list.
local load_prompts = require('acp.base.once')(function()
  require('acp.features.prompts.earlier_prompts').when_complete(function() end)
end)

local mentioned = {} ---@type table<string, string[]> names in a prompt, by its text

--- Return the names that each earlier prompt mentions, the newest prompt first.
---@return string[][]
local function earlier_mentions()
  local names, texts = {}, {}
  if require('acp.base.state').get().host == 'running' then load_prompts() end
  for _, prompt in ipairs(require('acp.features.prompts.earlier_prompts').list()) do
    local text = prompt.text
    texts[text] = mentioned[text] or require('acp.base.text.mentions').names(text)
    names[#names + 1] = texts[text]
  end
  mentioned = texts
  return names
end

--- Return the files that the user works with: those with unsaved changes, then those that were used
--- often or lately. The n-th last use counts 1/n, among open files and |v:oldfiles|, and among the
--- mentions in earlier prompts.
---@param list acp.FileList
---@return string[] paths relative to `cwd`
local function recent(list, cwd)
  local paths, score = {}, {} ---@type string[], table<string, number>
  local root = cwd:gsub('/$', '') .. '/'
  local function add(name, points, is_open)
    -- An open file may be ignored by git, or newer than the list.
    local is_there = list.known[name] or is_open and vim.uv.fs_stat(root .. name)
    if name == '' or not (score[name] or is_there) then return end
    if not score[name] then paths[#paths + 1] = name end
    score[name] = (score[name] or 0) + points
  end
  local function below(path) return vim.startswith(path, root) and path:sub(#root + 1) or '' end
  local open = buffers()
  for i, buffer in ipairs(open) do
    local is_unsaved = buffer.changed == 1
    local name = below(require('acp.base.places').path(buffer.bufnr))
    add(name, is_unsaved and math.huge or 1 / i, true)
  end
  for i, path in ipairs(vim.v.oldfiles) do
    local name = below(path)
    if not score[name] then add(name, 1 / (#open + i), false) end
  end
  for i, names in ipairs(earlier_mentions()) do
    for _, name in ipairs(names) do
      add(name, 1 / i, false)
    end
  end
  local place = {} ---@type table<string, integer> position without the scores
  for i, name in ipairs(paths) do
    place[name] = i
  end
  table.sort(paths, function(first, other)
    if score[first] ~= score[other] then return score[first] > score[other] end
    return place[first] < place[other]
  end)
  return paths
end

--- Number of paths that are compared in one step.
local STEP = 1000

--- Return the paths that match fuzzily, the best first.
---@param paths string[]
---@param lead string
---@param limit integer
---@param rest fun()
local function matching(paths, lead, limit, rest)
  local best = {}
  for first = 1, #paths, STEP do
    local some = vim.list_slice(paths, first, first + STEP - 1)
    vim.list_extend(best, vim.fn.matchfuzzy(some, lead, { limit = limit }))
    rest()
  end
  return #paths > STEP and vim.fn.matchfuzzy(best, lead, { limit = limit }) or best
end

--- Return whether the path, or one of its folders, begins with a text.
---@param path string
---@param lead string in lower case
local function has_part(path, lead)
  local at = ('/' .. path:lower()):find('/' .. lead, 1, true)
  return at ~= nil
end

--- Return the paths that match: those that the user works with first. A folder typed in full is not
--- one of them. Accepting it would change nothing and open the menu again.
---@param cwd string
---@param lead string
---@param limit integer
---@param rest fun() called between the steps of the search
---@return string[] recent
---@return string[] others
function M.search(cwd, lead, limit, rest)
  M.warm(cwd)
  local list, seen = lists[cwd], {}
  local function is_typed(path) return path == lead and path:sub(-1) == '/' end
  local used = vim.tbl_filter(
    function(path) return lead == '' or has_part(path, lead:lower()) and not is_typed(path) end,
    vim.list_slice(recent(list, cwd), 1, limit)
  )
  for _, path in ipairs(used) do
    seen[path] = true
  end
  local others = lead == '' and vim.list_slice(list.paths, 1, limit)
    or matching(list.paths, lead, limit, rest)
  return used, vim.tbl_filter(function(path) return not (seen[path] or is_typed(path)) end, others)
end

return M
