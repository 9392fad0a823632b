--- What tools of packs share: their arguments, places and lists.
local M = {}

M.LIMIT = 100

--- A schema of arguments, each `{ type, description }`.
---@param properties table<string, { [1]: string, [2]: string }>
---@param required? string[]
function M.schema(properties, required)
  local found = {}
  for name, one in pairs(properties) do
    found[name] = { type = one[1], description = one[2] }
  end
  return { type = 'object', properties = found, required = required, additionalProperties = false }
end

--- An argument that has to be a number or a text, or absent. Errors name it.
function M.argument(args, name, kind)
  local value = args[name]
  if value == vim.NIL then value = nil end
  if value ~= nil and type(value) ~= kind then
    error(('%s: a %s, not a %s'):format(name, kind, type(value)), 0)
  end
  return value
end

---@param args table
---@return integer
function M.limit(args)
  return math.max(math.floor(M.argument(args, 'limit', 'number') or M.LIMIT), 1)
end

--- A path as answers have it: relative to the session's directory where it lies there.
---@param path string
---@param cwd string
function M.shown(path, cwd)
  local real, root = vim.uv.fs_realpath(path) or path, vim.uv.fs_realpath(cwd) or cwd
  return vim.startswith(real, root .. '/') and real:sub(#root + 2) or real
end

--- Whether a path lies in the session's directory.
function M.is_inside(path, cwd)
  local real, root = vim.uv.fs_realpath(path) or path, vim.uv.fs_realpath(cwd) or cwd
  return real == root or vim.startswith(real, root .. '/')
end

--- One line of at most so many bytes.
function M.line(text, most)
  local flat = vim.trim((tostring(text):gsub('%s+', ' ')))
  if #flat <= most then return flat end
  return flat:sub(1, most + vim.str_utf_start(flat, most + 1)) .. '…'
end

--- What a tool answers with: a line for each item, and the items.
---@param name string of the list in the data
---@param items table[]
---@param limit integer
---@param line fun(item: table): string
---@param none string what to say where there is none
function M.list(name, items, limit, line, none)
  local more = math.max(#items - limit, 0)
  local shown = vim.list_slice(items, 1, limit)
  local lines = vim.tbl_map(line, shown)
  if more > 0 then lines[#lines + 1] = ('... and %d more'):format(more) end
  if #lines == 0 then lines[1] = none end
  return {
    text = table.concat(lines, '\n'),
    data = { [name] = #shown > 0 and shown or {}, more = more },
  }
end

return M
