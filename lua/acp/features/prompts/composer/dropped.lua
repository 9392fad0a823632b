--- Dropped files: terminals paste the paths of files that are dropped on them. In a composer each
--- path becomes a mention. This is a separate change, so that an undo restores the pasted text.
local M = {}

local candidates = require('acp.features.prompts.composer.candidates')
local paths = require('acp.base.paths')

local LONGEST = 4096 -- bytes of a pasted path

local IMAGES =
  { png = true, jpg = true, jpeg = true, gif = true, webp = true, svg = true, bmp = true }

--- Return the paths that a pasted text could refer to. Terminals paste a URI, a path in quotes, a
--- path with backslashes, or an unchanged path.
---@param text string
---@return string[]
local function possible_paths(text)
  if vim.startswith(text, 'file://') then
    local ok, path = pcall(vim.uri_to_fname, text)
    return ok and { path } or {}
  end
  local quoted = text:match("^'(.+)'$")
  if quoted then return { (quoted:gsub("'\\''", "'")) } end
  return { text:match('^"(.+)"$') or text, (text:gsub('\\(.)', '%1')) }
end

--- Return the file that a pasted text names: an absolute path, or an image. A name directly below
--- the root does not count, because `/init` may be a command.
---@param text string
---@return string|nil path absolute
local function file_of(text)
  for _, path in ipairs(possible_paths(text)) do
    local is_absolute = path:match('^/.*/') or path:match('^%a:[/\\]')
    local is_image = IMAGES[(path:match('%.(%a+)$') or ''):lower()]
    local stat = (is_absolute or is_image) and vim.uv.fs_stat(paths.absolute(path))
    if stat and (stat.type == 'file' or stat.type == 'directory') then
      return paths.absolute(path)
    end
  end
end

--- Split a text into words as a shell does. The words keep their quotes and backslashes.
---@param text string
---@return string[]
local function split_words(text)
  local words, rest = {}, text
  while rest ~= '' do
    local quoted = rest:match("^%b''") or rest:match('^%b""')
    -- An escaped blank is part of a word.
    local length = #(quoted or rest:gsub('\\.', '\0\0'):match('^%S+'))
    words[#words + 1] = rest:sub(1, length)
    rest = rest:sub(length + 1):gsub('^%s+', '')
  end
  return words
end

--- Return the files that a pasted text names: one, or several in quotes or with backslashes.
---@param text string without blanks at its ends
---@return string[] paths absolute; empty if a word does not name a file
local function files_of(text)
  local path = file_of(text)
  if path then return { path } end
  local files = {}
  for _, word in ipairs(split_words(text)) do
    path = file_of(word)
    if not path then return {} end
    files[#files + 1] = path
  end
  return files
end

---@param path string absolute
---@return string
local function mention(path)
  local root = require('acp.base.places').cwd() .. '/'
  return '@' .. paths.quote_mention(vim.startswith(path, root) and path:sub(#root + 1) or path)
end

--- Begin a new undo step, even within one insertion.
local function begin_undo_step() vim.bo.undolevels = vim.bo.undolevels end

--- If the pasted text consists of paths, replace it with mentions of the files. The pasted text is
--- before the cursor or, after a paste in Normal mode, at the end of the line.
---@param text string
local function replace(text)
  if #text > LONGEST or text:find('\n', 1, true) then return end
  local files = files_of(vim.trim(text))
  if not files[1] then return end
  local lnum, cursor = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line()
  local last = vim.endswith(line:sub(1, cursor), text) and cursor or #line
  local first = last - #text
  if line:sub(first + 1, last) ~= text then return end
  local space_before = line:sub(1, first):match('%S$') and ' ' or ''
  local space_after = line:sub(last + 1):match('^%s') and '' or ' '
  local mentions = table.concat(vim.tbl_map(mention, files), ' ')
  local new = space_before .. mentions .. space_after
  begin_undo_step()
  vim.api.nvim_buf_set_text(0, lnum - 1, first, lnum - 1, last, { new })
  begin_undo_step()
  vim.api.nvim_win_set_cursor(0, { lnum, first + #new })
end

local pasted ---@type string|nil text of the current paste into a composer

--- Handle a part of a paste.
---@param lines string[]
---@param phase -1|1|2|3 as for |vim.paste()|
local function on_pasted(lines, phase)
  if phase < 2 then
    local in_command_line = vim.api.nvim_get_mode().mode:match('^c')
    pasted = not in_command_line and candidates.composer(0) and '' or nil
  end
  if not pasted then return end
  pasted = pasted .. table.concat(lines, '\n')
  if #pasted > LONGEST or not candidates.composer(0) then
    pasted = nil
  elseif phase == -1 or phase == 3 then
    replace(pasted)
    pasted = nil
  end
end

--- Watch pastes, by |vim.paste()|, from the first composer on.
M.watch = require('acp.base.once')(function()
  local paste = vim.paste
  vim.paste = function(lines, phase) -- luacheck: ignore 122
    local is_complete = paste(lines, phase)
    on_pasted(lines, phase)
    return is_complete
  end
end)

return M
