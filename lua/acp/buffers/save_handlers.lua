--- The user's autocommands that take part in a save: they may write the file instead of Neovim, or
--- run a formatter on it afterwards.
local M = {}

local api, fn = vim.api, vim.fn

local MAX_BYTES = 4 * 1024 * 1024 -- of a file to compare; of larger ones only the size is compared

--- Return whether an autocommand by the user or another plugin runs at this event of the buffer.
---@param event string
function M.any(bufnr, event)
  local name = api.nvim_buf_get_name(bufnr)
  for _, autocmd in ipairs(api.nvim_get_autocmds({ event = event })) do
    local is_own = autocmd.group_name and vim.startswith(autocmd.group_name, 'acp.')
    local what = autocmd.pattern:find('/', 1, true) and name or vim.fs.basename(name)
    local is_match = not autocmd.buflocal and fn.match(what, fn.glob2regpat(autocmd.pattern)) >= 0
    if not is_own and (is_match or (autocmd.buflocal and autocmd.buffer == bufnr)) then
      return true
    end
  end
  return false
end

--- Return whether the bytes of a buffer's file determine its text.
function M.is_plain(bufnr)
  local options = vim.bo[bufnr]
  local encoding = options.fileencoding
  local is_utf8 = encoding == '' or encoding == 'utf-8'
  return not options.binary
    and (is_utf8 or (not options.bomb and vim.iconv('a', 'utf-8', encoding) ~= nil))
end

--- Return the bytes of a plain buffer in its file, without the end of the last line. Return nil if
--- a character does not exist in the encoding.
local function encode(bufnr, eol)
  local options = vim.bo[bufnr]
  local text = table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, true), eol)
  if options.fileencoding ~= '' and options.fileencoding ~= 'utf-8' then
    return vim.iconv(text, 'utf-8', options.fileencoding)
  end
  return options.bomb and '\239\187\191' .. text or text
end

--- Return whether the file's encoding has all characters of a buffer's text. For a missing
--- character Neovim writes another, leaves the buffer modified and does not count the write.
function M.is_encodable(bufnr)
  local encoding = vim.v.cmdarg:match('%+%+enc=(%S+)') or vim.bo[bufnr].fileencoding
  if encoding == '' or encoding == 'utf-8' then return true end
  local text = table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, true), '\n')
  local encoded = vim.iconv(text, 'utf-8', encoding)
  return encoded == nil or vim.iconv(encoded, encoding, 'utf-8') == text
end

--- Return whether a `BufWritePost` autocommand has rewritten the file of a buffer that was just
--- saved.
function M.rewrote(bufnr)
  local name, options = api.nvim_buf_get_name(bufnr), vim.bo[bufnr]
  local stat = vim.uv.fs_stat(name)
  local is_file = stat and stat.type == 'file' -- opening a pipe would block
  local saved = is_file and not options.modified and M.is_plain(bufnr)
  if not saved or not M.any(bufnr, 'BufWritePost') then return false end
  if stat.size > MAX_BYTES then
    local count = api.nvim_buf_line_count(bufnr)
    local size = api.nvim_buf_get_offset(bufnr, count)
    size = options.fileformat == 'dos' and size + count or size
    return math.abs(stat.size - size) > 3 -- allow for a BOM or the end of the last line
  end
  local eol = ({ dos = '\r\n', mac = '\r' })[vim.bo[bufnr].fileformat] or '\n'
  local text, found = encode(bufnr, eol), require('acp.base.read_file')(name)
  return text ~= nil and found ~= nil and found ~= text and found ~= text .. eol
end

return M
