--- Autocommands of the user that take part in a save: one may write the file in place of Neovim, or
--- run a formatter on it afterwards.
local M = {}

local api, fn = vim.api, vim.fn

local MAX_BYTES = 4 * 1024 * 1024 -- of a file that is compared; of a larger one its size only

--- Whether an autocommand of somebody else's is run at this event of the buffer.
---@param event string
function M.any(bufnr, event)
  local name = api.nvim_buf_get_name(bufnr)
  for _, one in ipairs(api.nvim_get_autocmds({ event = event })) do
    local ours = one.group_name and vim.startswith(one.group_name, 'acp.')
    local what = one.pattern:find('/', 1, true) and name or vim.fs.basename(name)
    local matches = not one.buflocal and fn.match(what, fn.glob2regpat(one.pattern)) >= 0
    if not ours and (matches or (one.buflocal and one.buffer == bufnr)) then return true end
  end
  return false
end

--- Whether the text of a buffer's file can be told from its bytes.
function M.is_plain(bufnr)
  local options = vim.bo[bufnr]
  local encoding = options.fileencoding
  local utf8 = encoding == '' or encoding == 'utf-8'
  return not options.binary
    and (utf8 or (not options.bomb and vim.iconv('a', 'utf-8', encoding) ~= nil))
end

--- The bytes that a plain buffer is in its file, but for the end of the last line; nil where there
--- is a character that its encoding lacks.
local function encoded(bufnr, eol)
  local options = vim.bo[bufnr]
  local text = table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, true), eol)
  if options.fileencoding ~= '' and options.fileencoding ~= 'utf-8' then
    return vim.iconv(text, 'utf-8', options.fileencoding)
  end
  return options.bomb and '\239\187\191' .. text or text
end

--- Whether the file of a buffer that was saved just now is another text already, by what is run at
--- `BufWritePost`.
function M.rewrote(bufnr)
  local name, options = api.nvim_buf_get_name(bufnr), vim.bo[bufnr]
  local stat = vim.uv.fs_stat(name)
  local is_file = stat and stat.type == 'file' -- a pipe would be waited for
  local saved = is_file and not options.modified and M.is_plain(bufnr)
  if not saved or not M.any(bufnr, 'BufWritePost') then return false end
  if stat.size > MAX_BYTES then
    local count = api.nvim_buf_line_count(bufnr)
    local size = api.nvim_buf_get_offset(bufnr, count)
    size = options.fileformat == 'dos' and size + count or size
    return math.abs(stat.size - size) > 3 -- as much as a BOM, or the end of a last line
  end
  local eol = ({ dos = '\r\n', mac = '\r' })[vim.bo[bufnr].fileformat] or '\n'
  local text, found = encoded(bufnr, eol), require('acp.base.read_file')(name)
  return text ~= nil and found ~= nil and found ~= text and found ~= text .. eol
end

return M
