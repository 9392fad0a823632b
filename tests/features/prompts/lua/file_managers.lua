-- Stand-ins of oil, neo-tree and nvim-tree for a buffer with one name per line.
local folder = ...

local function path(line) return folder .. '/' .. vim.fn.getline(line) end

package.loaded['oil'] = {
  get_current_dir = function(bufnr) return bufnr == 0 and folder .. '/' or nil end,
  get_entry_on_line = function(_, line) return { name = vim.fn.getline(line), type = 'file' } end,
}

package.loaded['neo-tree.sources.manager'] = {
  get_state_for_window = function()
    return { tree = { get_node = function(_, line) return { path = path(line) } end } }
  end,
}

package.loaded['nvim-tree.api'] = {
  marks = { list = function() return {} end },
  tree = { get_node_under_cursor = function() return { absolute_path = path('.') } end },
}
