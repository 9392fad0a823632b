-- Put a stand-in in the place of a backend. `_G.drawn` has its pictures, `_G.removed` their number.
local backend = ...
_G.drawn, _G.removed = {}, 0

local function is_png(data) return vim.startswith(data, '\137PNG') end

local function add(row, columns, rows, data)
  table.insert(_G.drawn, { row = row, columns = columns, rows = rows, is_png = is_png(data) })
end

local function remove() _G.removed = _G.removed + 1 end

local function read(path) return vim.fn.readblob(path) end

if backend == 'neovim' then
  local placed
  vim.ui.img = {
    set = function(data, opts)
      placed = opts
      add(opts.row - 1, opts.width, opts.height, data)
      return 1
    end,
    get = function() return placed end,
    del = remove,
  }
elseif backend == 'snacks' then
  package.preload['snacks'] = function()
    local placement = {}
    function placement.new(_, path, opts)
      add(opts.pos[1] - 1, opts.max_width, opts.max_height, read(path))
      return { close = remove }
    end
    return { image = { supports_terminal = function() return true end, placement = placement } }
  end
else
  package.preload['image'] = function()
    local images = {}
    local function from_file(path, opts)
      local image = { window = opts.window, clear = remove }
      function image.render()
        if not vim.api.nvim_win_is_valid(opts.window) then return end
        add(opts.y, opts.width, opts.height, read(path))
        table.insert(images, image)
      end
      return image
    end
    vim.api.nvim_create_augroup('image.nvim', {}) -- as its setup() does
    return { from_file = from_file, get_images = function() return images end }
  end
end
