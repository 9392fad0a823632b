--- What autocommands of the user make of a save: one may write the file in place of Neovim, or run
--- a formatter on it afterwards.
local M = {}

local api, fn = vim.api, vim.fn

local MAX_BYTES = 4 * 1024 * 1024 -- of a file that is compared; of a larger one its size only

--- Whether an autocommand of somebody else's is run at this event of the buffer.
---@param bufnr integer
---@param event string
---@return boolean
function M.any(bufnr, event)
  local name = api.nvim_buf_get_name(bufnr)
  for _, one in ipairs(api.nvim_get_autocmds({ event = event })) do
    local ours = one.group_name and vim.startswith(one.group_name, 'acp.')
    local what = one.pattern:find('/', 1, true) and name or vim.fs.basename(name)
    local matches = not one.buflocal and fn.match(what, fn.glob2regpat(one.pattern)) >= 0
    if not ours and (matches or (one.buflocal and one.buffer == bufnr)) then
      return true
    end
  end
  return false
end

---@return string|nil
local function content(name)
  local file = io.open(name, 'rb')
  if not file then
    return nil
  end
  local found = file:read('*a')
  file:close()
  return found
end

--- Whether the file of a buffer that was saved just now is another text already, by what is run at
--- `BufWritePost`. Of a buffer in another encoding than UTF-8 this is not known: it is not.
---@param bufnr integer
---@return boolean
function M.rewrote(bufnr)
  local options, name = vim.bo[bufnr], api.nvim_buf_get_name(bufnr)
  local plain = options.fileencoding == '' or options.fileencoding == 'utf-8'
  local stat = (vim.uv or vim.loop).fs_stat(name)
  if not plain or not stat or options.modified or not M.any(bufnr, 'BufWritePost') then
    return false
  end
  local dos, count = options.fileformat == 'dos', api.nvim_buf_line_count(bufnr)
  local size = api.nvim_buf_get_offset(bufnr, count) + (dos and count or 0)
  if options.bomb or math.max(size, stat.size) > MAX_BYTES then
    return math.abs(stat.size - size) > 3 -- as much as a BOM, or the end of a last line
  end
  local eol = dos and '\r\n' or '\n'
  local text = table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, true), eol)
  local found = content(name)
  return found ~= nil and found ~= text and found ~= text .. eol
end

return M
