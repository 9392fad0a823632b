--- The text of the prompt `conflicts`: the conflicts of a file with both sides and the base.

--- Return the lines of each conflict, and whether all of them contain the base.
---@param lines string[]
---@param first integer 1-based
---@return { first: integer, last: integer, text: string }[]
---@return boolean with_base
local function find_conflicts(lines, first)
  local list, with_base = {}, true
  local start, has_base ---@type integer|nil, boolean
  for i, line in ipairs(lines) do
    if line:match('^<<<<<<<') then
      start, has_base = i, false
    elseif line:match('^|||||||') then
      has_base = true
    elseif line:match('^>>>>>>>') and start then
      local text = table.concat(lines, '\n', start, i)
      list[#list + 1] = { first = first + start - 1, last = first + i - 1, text = text }
      with_base, start = with_base and has_base, nil
    end
  end
  return list, with_base
end

--- Return a code block. Its fence is longer than any in the text.
local function block(text)
  local fence = '```'
  while text:find(fence, 1, true) do
    fence = fence .. '`'
  end
  return ('%s\n%s\n%s'):format(fence, text:gsub('\n$', ''), fence)
end

--- Write the text and pass it on. Without conflicts, show a message.
---@param prompt acp.Prompt
---@param ctx acp.PromptContext
---@param on_text fun(text: string)
return function(prompt, ctx, on_text)
  local first = ctx.range and ctx.range.first or 1
  local last = ctx.range and ctx.range.last or -1
  local lines = vim.api.nvim_buf_get_lines(ctx.bufnr, first - 1, last, false)
  local conflicts, with_base = find_conflicts(lines, first)
  if #conflicts == 0 then return require('acp.base.notify').show('info', 'no_conflicts') end
  local name = ctx.path ~= '' and require('acp.base.paths').display(ctx.path) or 'the buffer'
  local parts = { prompt.text }
  for i, conflict in ipairs(conflicts) do
    local head = ('Conflict %d of %d, lines %d to %d of %s:'):format(
      i,
      #conflicts,
      conflict.first,
      conflict.last,
      name
    )
    parts[#parts + 1] = head .. '\n' .. block(conflict.text)
  end
  local function finish(bases)
    if type(bases) == 'string' and bases ~= '' then
      parts[#parts + 1] = 'The conflicts as git recorded them, with their base:\n' .. block(bases)
    end
    on_text(table.concat(parts, '\n\n'))
  end
  if with_base or ctx.path == '' then return finish() end
  local id = require('acp.base.host.replies').expect(finish)
  require('acp.base.host').notify('conflicts', { id = id, path = ctx.path })
end
