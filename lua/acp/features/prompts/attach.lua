--- Attachment of files and lines: `require('acp').attach()`, and `:Acp attach` in lists of files.
local M = {}

---@class acp.AttachItem
---@field path any a string, except for an entry of a picker that is not a file
---@field first? integer 1-based
---@field last? integer 1-based, inclusive

--- Return an item as a table. A path alone means the file.
---@param item string|acp.AttachItem|any[] its fields may have no names: `{ path, first, last }`
---@return acp.AttachItem
local function as_table(item)
  if type(item) == 'string' then return { path = item } end
  return {
    path = item.path or item[1],
    first = item.first or item[2],
    last = item.last or item[3],
  }
end

--- Return the items that have a path, as tables.
---@param items (string|acp.AttachItem)[]
---@return acp.AttachItem[]
local function with_paths(items)
  return vim.tbl_filter(
    function(item) return type(item.path) == 'string' and item.path ~= '' end,
    vim.tbl_map(as_table, items)
  )
end

--- Attach files and lines to the next prompt. Items that do not exist are named in one message.
---@param items (string|acp.AttachItem)[]
local function attach(items)
  if not require('acp.base.args').check('attach', items) then return end
  local paths, chips, missing = {}, {}, {}
  local chips_of = require('acp.features.prompts.chips')
  local files = with_paths(items)
  if not files[1] then return require('acp.base.notify').show('info', 'nothing_to_attach') end
  for _, item in ipairs(files) do
    local path = require('acp.base.paths').expand_home(item.path)
    local exists = vim.uv.fs_stat(path) ~= nil
    local lines = exists
      and item.first
      and chips_of.of_file(path, item.first, item.last or item.first)
    if not exists or item.first and not lines then
      missing[#missing + 1] = item.path
    elseif lines then
      chips[#chips + 1] = lines
    else
      paths[#paths + 1] = path
    end
  end
  if #missing > 0 then
    local names = table.concat(vim.tbl_map(require('acp.base.paths').on_one_line, missing), ', ')
    require('acp.base.notify').show('warn', 'attach_missing', names)
  end
  if paths[1] or chips[1] then
    require('acp.features.prompts.attachments').add(nil, paths, chips)
  end
end

--- Attach files and lines. A picker may call it while it closes, before Insert mode has ended.
---@param items (string|acp.AttachItem)[]
function M.attach(items) require('acp.base.notify').defer_messages(attach, items) end

--- Attach the marked files of a list, or those under the cursor, if the current buffer is one.
---@param first integer 1-based line
---@param last integer
---@return boolean is_list
function M.from_list(first, last)
  local items = require('acp.features.prompts.file_lists').selected_items(first, last)
  if not items then return false end
  attach(items)
  return true
end

return M
