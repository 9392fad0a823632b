--- Prompts of the library, from the plugin, option `prompts`, and the project.
local M = {}

local FOLDER = '.acp/prompts'
local MAX_FILES, MAX_BYTES = 100, 16 * 1024 -- files, and bytes of each

---@class acp.Prompt
---@field name string
---@field text? string nil for a function
---@field about? string appended if the prompt has no lines
---@field preset? string
---@field make? fun(ctx: acp.PromptContext): any
---@field module? string module with a function that writes the text
---@field file? string file of the project
---@field content? string all of that file

--- Return the prompt of a user's entry.
---@param entry string|function|{ text: string, preset?: string }
---@return acp.Prompt
local function of_user(name, entry)
  if type(entry) == 'function' then return { name = name, make = entry } end
  if type(entry) == 'string' then return { name = name, text = entry } end
  return { name = name, text = entry.text, preset = entry.preset }
end

--- Split a file into the preset in its front matter and the text.
---@param content string
---@return string|nil preset
---@return string text
local function parse(content)
  local lines = vim.split(content, '\r?\n')
  local last = lines[1] == '---' and vim.fn.index(lines, '---', 1) or -1
  if last < 0 then return nil, vim.trim(content) end
  local preset
  for i = 2, last do
    preset = lines[i]:match('^preset:%s*["\']?(.-)["\']?%s*$') or preset
  end
  return preset ~= '' and preset or nil, vim.trim(table.concat(lines, '\n', last + 2))
end

---@param text string
local function is_utf8(text)
  return vim
    .iter(vim.str_utf_pos(text))
    :all(function(at) return text:byte(at) < 128 or vim.str_utf_end(text, at) > 0 end)
end

--- Read a prompt of the project. Return nil if the file is not text.
---@param file string resolved path
---@return acp.Prompt|nil
local function read(file)
  local content = require('acp.base.read_file')(file)
  local is_text = content and not content:find('\0', 1, true)
  if not is_text or not is_utf8(content) then return nil end
  local preset, text = parse(content)
  if text == '' then return nil end
  local name = vim.fs.basename(file):gsub('%.md$', '')
  return { name = name, text = text, preset = preset, file = file, content = content }
end

local known = {} ---@type table<string, { stat: uv.fs_stat.result, prompt: acp.Prompt|nil }>

--- Return a prompt of the project, read again only if its file has changed. Return nil if it is not
--- an ordinary file; a link could lead to a secret.
---@param file string resolved path
---@return acp.Prompt|nil
local function of_file(file)
  local stat = vim.uv.fs_lstat(file)
  if not stat or stat.type ~= 'file' or stat.size > MAX_BYTES then return nil end
  stat.atime, stat.nlink = nil, nil
  local before = known[file]
  if not before or not vim.deep_equal(before.stat, stat) then
    before = { stat = stat, prompt = read(file) }
    known[file] = before
  end
  return before.prompt and vim.tbl_extend('keep', {}, before.prompt)
end

--- Return the prompts of the project in the current directory.
---@return acp.Prompt[]
local function of_project()
  local root = vim.uv.fs_realpath(require('acp.base.places').cwd())
  local folder = root and vim.fs.joinpath(root, FOLDER)
  if not folder or vim.uv.fs_realpath(folder) ~= folder then return {} end
  local names, prompts = {}, {}
  for name in vim.fs.dir(folder) do
    if name:match('^[^.%c].*%.md$') and #names < MAX_FILES then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    prompts[#prompts + 1] = of_file(vim.fs.joinpath(folder, name))
  end
  return prompts
end

--- Return all prompts by name. If a prompt of the project has the name of another prompt, it gets
--- the name of its file.
---@return table<string, acp.Prompt>
function M.all()
  local prompts = {} ---@type table<string, acp.Prompt>
  for name, entry in pairs(require('acp.features.library.defaults')) do
    prompts[name] = vim.tbl_extend('keep', { name = name }, entry)
  end
  for name, entry in pairs(require('acp.config').get().prompts) do
    prompts[name] = entry and of_user(name, entry) or nil
  end
  for _, prompt in ipairs(of_project()) do
    if prompts[prompt.name] then prompt.name = prompt.name .. '.md' end
    prompts[prompt.name] = prompts[prompt.name] or prompt
  end
  return prompts
end

---@return string[]
function M.names() return require('acp.base.sorted_keys')(M.all()) end

--- Return whether the user has agreed to a prompt of the project permanently. The host writes the
--- file (`acp_nvim/agent/serving/consent.py`).
---@param prompt acp.Prompt
function M.is_trusted(prompt)
  local stored = require('acp.base.read_file')(vim.fn.stdpath('data') .. '/acp/prompts.json')
  if not stored then return false end
  local ok, answers = pcall(vim.json.decode, stored)
  local key = vim.fn.sha256(prompt.content or '') .. ' ' .. (prompt.file or '')
  return ok and type(answers) == 'table' and answers[key] == true
end

--- Return the text of a prompt for a session without selected lines.
---@param prompt acp.Prompt
---@return string
function M.whole(prompt)
  return prompt.about and prompt.text .. '\n\n' .. prompt.about or prompt.text
end

--- Return the prompts that can be inserted into a composer, with the texts of their previews.
--- Prompts of the project are included only after the user has agreed to them.
---@return { name: string, text: string }[]
function M.insertable()
  local all, insertable = M.all(), {}
  for _, name in ipairs(require('acp.base.sorted_keys')(all)) do
    local prompt = all[name]
    if not prompt.file or M.is_trusted(prompt) then
      local text = prompt.text and M.whole(prompt)
      insertable[#insertable + 1] =
        { name = name, text = text or require('acp.base.messages').prompt_function }
    end
  end
  return insertable
end

return M
