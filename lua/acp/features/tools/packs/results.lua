--- Helpers for tools of packs: arguments, paths and lists.
local M = {}

M.LIMIT = 100

--- Return a JSON schema for arguments, each given as `{ type, description }`.
---@param properties table<string, { [1]: string, [2]: string }>
---@param required? string[]
function M.schema(properties, required)
  local members = {}
  for name, property in pairs(properties) do
    members[name] = { type = property[1], description = property[2] }
  end
  return {
    type = 'object',
    properties = members,
    required = required,
    additionalProperties = false,
  }
end

--- Return an optional argument of a type. Raise an error that names it if the type is wrong.
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

--- Return a path for results, relative to the session's directory if it is inside.
---@param path string
---@param cwd string
function M.display_path(path, cwd)
  local real, root = vim.uv.fs_realpath(path) or path, vim.uv.fs_realpath(cwd) or cwd
  return vim.startswith(real, root .. '/') and real:sub(#root + 2) or real
end

--- Return whether a path is inside the session's directory.
function M.is_inside(path, cwd)
  local real, root = vim.uv.fs_realpath(path) or path, vim.uv.fs_realpath(cwd) or cwd
  return real == root or vim.startswith(real, root .. '/')
end

--- Order for |table.sort()|: by path, then by line.
function M.by_place(a, b) return a.path < b.path or a.path == b.path and a.line < b.line end

--- Return a text on one line, truncated to `most` bytes.
function M.line(text, most)
  local flat = vim.trim((tostring(text):gsub('%s+', ' ')))
  if #flat <= most then return flat end
  return flat:sub(1, most + vim.str_utf_start(flat, most + 1)) .. '…'
end

--- Return the result of a tool: a line of text for each item, and the items as data.
---@param name string of the list in the data
---@param items table[]
---@param limit integer
---@param line fun(item: table): string
---@param none string text for an empty list
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
