--- `:Acp ask`: send a prompt from the library.
local M = {}

local ABOUT = 60 -- cells of the text in a label

local prompts = require('acp.features.library.prompts')

---@class acp.PromptContext argument of a function in option `prompts`
---@field bufnr integer the buffer that the user works in
---@field path string its file, '' if it has none
---@field filetype string
---@field cwd string
---@field line integer the cursor's line
---@field range? { first: integer, last: integer, text: string } the lines of the command

---@param message string
local function fail(message, ...) require('acp.base.notify').error(message:format(...)) end

---@param range { bufnr: integer, first: integer, last: integer }|nil
---@return acp.PromptContext
local function context(range)
  local places, win = require('acp.base.places'), require('acp.ui.win').work()
  local bufnr = range and range.bufnr or vim.api.nvim_win_get_buf(win)
  local lines = range and places.range(bufnr, range.first, range.last)
  return {
    bufnr = bufnr,
    path = places.path(bufnr),
    filetype = vim.bo[bufnr].filetype,
    cwd = places.cwd(),
    line = vim.api.nvim_win_get_cursor(win)[1],
    range = lines and { first = lines.first, last = lines.last, text = lines.text },
  }
end

--- Send a text in the current session or, for a preset that it does not have, in a new one.
---@param prompt acp.Prompt
---@param text string
---@param preset string|nil
---@param lines any lines to attach
local function send(prompt, text, preset, lines)
  local presets = require('acp.base.valid_names').presets()
  if preset and not vim.tbl_contains(presets, preset) then
    local what = ("preset of prompt '%s':"):format(prompt.name)
    return fail('%s', require('acp.base.text.nearest').message(what, preset, presets))
  end
  require('acp.base.signals').emit('prompt_wanted', text, {
    preset = preset,
    lines = lines,
    foreign = prompt.file and { text } or nil,
  })
end

--- Call the user's function, and pass on the text that it returns.
---@param prompt acp.Prompt
---@param ctx acp.PromptContext
---@param done fun(text: string, preset?: string)
local function from_function(prompt, ctx, done)
  local messages = require('acp.base.messages')
  local win = require('acp.ui.win').work()
  local ok, made ---@type boolean, any
  -- The error of a call inside of nvim_win_call() would have a traceback.
  vim.api.nvim_win_call(win, function()
    ok, made = pcall(prompt.make, ctx)
  end)
  if not ok then return fail(messages.prompt_failed, prompt.name, tostring(made)) end
  if made == nil then return end
  local text = type(made) == 'table' and made.text or made
  local preset = type(made) == 'table' and made.preset or nil
  if type(text) ~= 'string' or not text:match('%S') then
    return fail(messages.prompt_result, prompt.name)
  end
  done(text, preset)
end

--- Create the text of a prompt and pass it to `done`, unless its function returns nil. Without a
--- range, `about` of the prompt follows the text.
---@param prompt acp.Prompt
---@param ctx acp.PromptContext
---@param done fun(text: string, preset?: string)
local function write(prompt, ctx, done)
  if prompt.make then
    from_function(prompt, ctx, done)
  elseif prompt.module then
    require('acp.features.library.' .. prompt.module)(prompt, ctx, done)
  else
    done(ctx.range and prompt.text or prompts.whole(prompt), prompt.preset)
  end
end

--- Write the text of a prompt for a composer.
---@param name string
---@param done fun(text: string)
function M.write(name, done)
  local prompt = prompts.all()[name]
  if prompt then write(prompt, context(nil), done) end
end

--- Send a prompt of the project once the user has agreed to it.
---@param prompt acp.Prompt
local function from_project(prompt, cwd, lines)
  local function answered(answer)
    if answer == true then
      send(prompt, prompt.text, prompt.preset, lines)
    else
      require('acp.base.notify').show('info', 'prompt_declined', prompt.name)
    end
  end
  local id = require('acp.base.host.replies').expect(answered)
  local args = { id = id, file = prompt.file, text = prompt.content, cwd = cwd }
  require('acp.base.host').notify('trust_prompt', args)
end

--- Send a prompt, with the lines of a range.
---@param name string
---@param range { bufnr: integer, first: integer, last: integer }|nil
function M.send(name, range)
  local prompt = prompts.all()[name]
  if not prompt then
    local where = require('acp.base.messages').see_subcommand:format('ask')
    return fail(
      '%s',
      require('acp.base.text.nearest').message('prompt', name, prompts.names(), where)
    )
  end
  local ctx = context(range)
  local lines = range
    and require('acp.base.signals').emit('lines_chosen', range.bufnr, range.first, range.last)
  if prompt.file then
    if require('acp.base.places').cwd_or_error() then from_project(prompt, ctx.cwd, lines) end
  else
    write(prompt, ctx, function(text, preset) send(prompt, text, preset, lines) end)
  end
end

--- Return the lines of a prompt's preview. The text of a prompt of the project is shown only after
--- the user has agreed to it.
---@param prompt acp.Prompt
---@return string[]
local function preview(prompt)
  local messages = require('acp.base.messages')
  if prompt.file and not prompts.is_trusted(prompt) then
    local file = require('acp.base.paths').on_one_line(prompt.file)
    return { file, '', messages.prompt_unseen }
  end
  local lines = prompt.preset and { 'preset: ' .. prompt.preset, '' } or {}
  local text = prompt.text and prompts.whole(prompt) or messages.prompt_function
  return vim.tbl_map(
    require('acp.base.notify').one_line,
    vim.list_extend(lines, vim.split(text, '\n'))
  )
end

--- Return the label of a prompt: its name and the beginning of its text, as in the preview.
---@param prompt acp.Prompt
---@return string
local function label(prompt)
  if prompt.file then return prompt.name .. ' (of the project)' end
  local notify = require('acp.base.notify')
  local first = (prompt.text or ''):match('^[^\r\n]*')
  return require('acp.ui.choices').label(prompt.name, notify.cut(notify.one_line(first), ABOUT))
end

--- Let the user choose a prompt.
---@param range { bufnr: integer, first: integer, last: integer }|nil
function M.choose(range)
  local all, items = prompts.all(), {}
  local names = require('acp.base.sorted_keys')(all)
  for _, name in ipairs(names) do
    local prompt = all[name]
    items[#items + 1] = { label = label(prompt), preview = preview(prompt) }
  end
  local title = require('acp.base.messages').choose_prompt
  require('acp.ui.pick').choose(
    title,
    'prompt',
    items,
    function(index) M.send(names[index], range) end
  )
end

return M
