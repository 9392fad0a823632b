--- Scratch buffers of the plugin: created once, found by name, not modifiable by the user.
local M = {}

--- 'formatlistpat' for drawn text: items of lists and plans, quotes, tool calls. A single sign is
--- drawn in place of `- [x]`.
M.ITEM = [[^\s*\%(\d\+[.)]\|[-*+>○◐✓✗⊘⚠—→↳]\)\s\+]]

--- Return the buffer with exactly this name, nil if there is none.
---@return integer|nil bufnr
function M.find(name)
  if vim.fn.bufexists(name) == 0 then return nil end
  -- bufnr() takes a pattern; the list is exact.
  return vim
    .iter(vim.api.nvim_list_bufs())
    :find(function(bufnr) return vim.api.nvim_buf_get_name(bufnr) == name end)
end

--- Leave Insert mode when the user enters this buffer, which is not modifiable, by a click or by
--- <C-o> and a key.
function M.leave_insert(bufnr)
  local function leave()
    if vim.api.nvim_get_current_buf() ~= bufnr then return end -- the user has moved on
    if vim.api.nvim_get_mode().mode:find('^n?i') then vim.cmd.stopinsert() end
  end
  local on = require('acp.base.autocmds').in_buffer
  on(bufnr, { 'BufEnter', 'WinEnter' }, vim.schedule_wrap(leave))
end

--- Set options of a buffer of the plugin. In one that is not modifiable, typed text would be lost,
--- so it has no Insert mode.
---@param options table<string, any>
function M.set_options(bufnr, options)
  vim.api.nvim_buf_set_var(bufnr, 'acp', true) -- for `acp.ui.window.session_files`
  if options.buftype == 'acwrite' then require('acp.buffers.automatic_saves').listen() end
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { buf = bufnr })
  end
  if options.modifiable == false then M.leave_insert(bufnr) end
end

--- Set the options of a plugin buffer that the user writes into. Callers set its filetype last,
--- after the keys, so that keys of the user's filetype plugins win.
---@param more? table<string, any>
function M.set_writable(bufnr, more)
  M.set_options(bufnr, {
    buftype = 'acwrite',
    modifiable = true, -- even if 'modifiable' is off globally
    bufhidden = 'hide',
    buflisted = false,
    swapfile = false,
    modeline = false,
  })
  M.set_options(bufnr, more or {})
end

--- Return a buffer with this name that the user writes into, creating it if needed. It is wiped out
--- with its last window.
---@return integer bufnr
---@return boolean created
function M.ensure_writable(name)
  local bufnr = vim.fn.bufadd(name)
  if vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == 'acwrite' then
    return bufnr, false
  end
  vim.fn.bufload(bufnr)
  M.set_writable(bufnr, { bufhidden = 'wipe' })
  return bufnr, true
end

--- Call `fn` when the user writes a plugin buffer. Automatic writes, as with 'autowrite', have no
--- effect.
---@param fn fun()
function M.on_write(bufnr, fn)
  require('acp.base.autocmds').in_buffer(bufnr, 'BufWriteCmd', function()
    if not require('acp.buffers.automatic_saves').is_automatic() then fn() end
  end)
end

--- Return an empty scratch buffer with this name. Reuse an existing one, which a session file
--- (|:mksession|) may have created together with its windows.
---@return integer bufnr
function M.claim(name)
  local bufnr = M.find(name)
  if bufnr then
    vim.bo[bufnr].buftype, vim.bo[bufnr].buflisted = 'nofile', false
    vim.fn.bufload(bufnr)
    vim.bo[bufnr].modifiable = true
    vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, {})
    vim.bo[bufnr].modified = false
  else
    bufnr = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(bufnr, name)
  end
  return bufnr
end

--- Return a buffer with this name and filetype that is not modifiable and has no file, swap file or
--- modelines.
---@return integer bufnr
---@return boolean created
function M.ensure(name, filetype)
  local bufnr = M.find(name)
  if bufnr and vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == 'nofile' then
    return bufnr, false
  end
  bufnr = M.claim(name)
  M.set_options(bufnr, {
    buftype = 'nofile',
    bufhidden = 'hide',
    buflisted = false,
    swapfile = false,
    modeline = false,
    modifiable = false,
    undolevels = -1,
    filetype = filetype,
  })
  return bufnr, true
end

--- Set a file's filetype in a plugin buffer that shows its text. Hide errors of filetype plugins. A
--- tree-sitter highlighter without a matching parser is stopped.
---@param filetype string
function M.set_filetype(bufnr, filetype)
  local command = 'silent! setlocal filetype=' .. filetype
  vim.api.nvim_buf_call(bufnr, function() vim.cmd(command) end)
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  local has_highlighter = vim.treesitter.highlighter.active[bufnr] ~= nil
  if has_highlighter and not require('acp.base.compat').has_parser(language) then
    vim.treesitter.stop(bufnr)
  end
end

--- Call `fn` after `:edit`, which empties a buffer without a file, to restore its text.
---@param fn fun()
function M.on_read(bufnr, fn) require('acp.base.autocmds').in_buffer(bufnr, 'BufReadCmd', fn) end

--- Replace all lines and highlights of a buffer that is not modifiable.
---@param spans? acp.Span[]
---@param ns integer
function M.fill(bufnr, lines, spans, ns)
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  M.paint(bufnr, spans or {}, ns)
end

--- Set the highlights of a whole buffer. Spans outside the text are ignored.
---@param spans acp.Span[] `{row, col, end_col, group}`, 0-based, bytes
---@param ns integer
function M.paint(bufnr, spans, ns)
  vim.api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
  for _, span in ipairs(spans) do
    vim.api.nvim_buf_set_extmark(bufnr, ns, span[1], span[2], {
      end_col = span[3],
      hl_group = span[4],
      strict = false,
    })
  end
end

--- Restore the view of the current window after the rows below `last` have shifted.
---@param view vim.fn.winsaveview.ret
local function restore_view(view, last, shift)
  for _, at in ipairs({ 'lnum', 'topline' }) do
    if view[at] > last then view[at] = view[at] + shift end
  end
  vim.fn.winrestview(view)
end

--- Replace rows [first, last) without damaging folds: replace line by line, then insert or delete
--- the difference. nvim_buf_set_lines() truncates a fold if it replaces its first row, and excludes
--- rows inserted directly above its last row. It is used only to append rows at the end.
function M.replace(bufnr, first, last, lines)
  local is_at_bottom = last >= vim.api.nvim_buf_line_count(bufnr)
  if is_at_bottom and (first == 0 or first == last or #lines == 0) then
    vim.api.nvim_buf_set_lines(bufnr, first, last, true, lines)
    return
  end
  local view = vim.api.nvim_get_current_buf() == bufnr and vim.fn.winsaveview()
  local both = math.min(last - first, #lines)
  if both > 0 then vim.fn.setbufline(bufnr, first + 1, vim.list_slice(lines, 1, both)) end
  if #lines > both and is_at_bottom then
    vim.api.nvim_buf_set_lines(bufnr, last, last, true, vim.list_slice(lines, both + 1))
  elseif #lines > both then
    vim.fn.appendbufline(bufnr, first + both, vim.list_slice(lines, both + 1))
  elseif first + both < last then
    vim.fn.deletebufline(bufnr, first + both + 1, last)
  end
  if view then restore_view(view, last, #lines - (last - first)) end
end

--- Insert `count` lines above `row` from the variable `g:acp_lines`, and remove the variable.
function M.insert_variable(bufnr, row, count)
  local view = vim.api.nvim_get_current_buf() == bufnr and vim.fn.winsaveview()
  local insert = ('appendbufline(%d, %d, remove(g:, "acp_lines"))'):format(bufnr, row)
  if vim.api.nvim_eval(insert) ~= 0 then error('acp: no row above ' .. row) end
  if view then restore_view(view, row, count) end
end

--- Append text to the end of `row`.
---@param lines string[] the first one continues `row`
function M.append(bufnr, row, lines)
  if require('acp.base.compat').cuts_folds and #lines > 1 then
    vim.api.nvim_buf_set_text(bufnr, row, -1, row, -1, { lines[1] })
    M.replace(bufnr, row + 1, row + 1, vim.list_slice(lines, 2))
  else
    vim.api.nvim_buf_set_text(bufnr, row, -1, row, -1, lines)
  end
end

return M
