--- Previews of completions: a command's description, a variable's current value, a prompt's text,
--- the first lines of a file.
local M = {}

local uv = vim.uv
local candidates = require('acp.features.prompts.composer.candidates')

local LINES, WIDTH = 20, 200 -- of a preview, in lines and characters
local BYTES = 65536 -- read from a file

--- Flag of open(2) that prevents a wait for the other end of a pipe.
local OPEN_FLAGS = uv.constants.O_RDONLY + (uv.constants.O_NONBLOCK or 0)

---@class acp.Preview
---@field kind 'markdown'|'plaintext'
---@field value string

--- Return lines of a text, without unprintable characters, as a Markdown code block.
---@param lines string[]
---@param language? string
---@return string
local function block(lines, language)
  local shown, fence = {}, '```'
  for i = 1, math.min(#lines, LINES) do
    local line = lines[i]:gsub('\r$', '')
    shown[i] = vim.fn.strcharpart(candidates.legible(line:sub(1, 4 * WIDTH)), 0, WIDTH)
    while shown[i]:find(fence, 1, true) do
      fence = fence .. '`'
    end
  end
  if #lines > LINES then shown[#shown + 1] = '…' end
  return ('%s%s\n%s\n%s'):format(fence, language or '', table.concat(shown, '\n'), fence)
end

---@param text string
---@return string[]
local function lines_of(text)
  local lines = vim.split(text, '\n', { plain = true })
  if lines[#lines] == '' then table.remove(lines) end
  return lines
end

---@param value string
---@return acp.Preview
local function markdown(value) return { kind = 'markdown', value = value } end

---@type table<string, fun(item: acp.Previewed, done: fun(preview?: acp.Preview))>
local by_kind = {}

--- Show the text of a command unformatted, because the agent could hide a part of it with Markdown.
function by_kind.command(item, done)
  local command = vim
    .iter(candidates.session_commands(item.composer))
    :find(function(command) return command.name == item.name end)
  if not command then return done() end
  local hint = command.hint and ' ' .. candidates.legible(command.hint) or ''
  local about = candidates.legible(command.description)
  local text = vim.trim(('/%s%s\n\n%s'):format(item.name, hint, about))
  done({ kind = 'plaintext', value = text })
end

function by_kind.prompt(item, done)
  local text = candidates.prompt_texts()[item.name]
  done(text and markdown(block(lines_of(text), 'markdown')))
end

function by_kind.variable(item, done)
  local variables = require('acp.features.prompts.composer.variables')
  local value, from_host = variables.value(item.name, item.composer)
  local about = require('acp.features.prompts.composer.values').about[item.name]
  local shown = value ~= '' and block(lines_of(value:sub(1, BYTES)))
    or from_host and 'Known when the prompt is sent.'
    or 'Empty now.'
  done(markdown(about .. '\n\n' .. shown))
end

--- Read the beginning of a regular file in the background.
---@param path string
---@param done fun(text?: string) called in the main loop
local function read(path, done)
  done = vim.schedule_wrap(done)
  uv.fs_open(path, OPEN_FLAGS, 0, function(_, file)
    if not file then return done() end
    local function close(text)
      uv.fs_close(file, function() done(text) end)
    end
    uv.fs_fstat(file, function(_, stat)
      if not stat or stat.type ~= 'file' then return close() end
      uv.fs_read(file, BYTES, 0, function(_, text) close(text) end)
    end)
  end)
end

---@param path string absolute
---@param first integer 1-based
---@param done fun(lines?: string[]) the lines from `first` on, of the buffer if there is one
local function lines_from(path, first, done)
  local bufnr = vim.fn.bufexists(path) == 1 and vim.fn.bufadd(path) or -1
  if vim.api.nvim_buf_is_loaded(bufnr) then
    return done(vim.api.nvim_buf_get_lines(bufnr, first - 1, first + LINES, false))
  end
  read(path, function(text)
    local is_text = text and not text:find('\0', 1, true)
    done(is_text and vim.list_slice(lines_of(text), first) or nil)
  end)
end

---@param path string absolute
---@param first integer 1-based
---@param done fun(preview?: acp.Preview)
local function file_lines(path, first, done)
  lines_from(path, first, function(lines)
    if not lines or #lines == 0 then return done() end
    done(markdown(block(lines, vim.filetype.match({ filename = path }))))
  end)
end

function by_kind.file(item, done) file_lines(item.path, 1, done) end

function by_kind.symbol(item, done) file_lines(item.path, item.first, done) end

---@class acp.Previewed
---@field kind string kind of the candidate
---@field name string
---@field composer? integer
---@field path? string absolute
---@field first? integer 1-based line

--- Return the data with which `show` finds the preview of a candidate.
---@param candidate acp.Candidate
---@param composer integer|nil
---@param cwd string
---@return acp.Previewed
function M.data(candidate, composer, cwd)
  local symbol = candidate.symbol
  local is_file = candidate.kind == 'file'
  return {
    kind = candidate.kind,
    name = candidate.name,
    composer = composer,
    path = symbol and symbol.path or is_file and vim.fs.joinpath(cwd, candidate.name) or nil,
    first = symbol and symbol.first,
  }
end

--- Call `done` with the preview of a candidate, nil if it has none.
---@param item acp.Previewed
---@param done fun(preview?: acp.Preview)
function M.show(item, done)
  if by_kind[item.kind] then return by_kind[item.kind](item, done) end
  done()
end

return M
