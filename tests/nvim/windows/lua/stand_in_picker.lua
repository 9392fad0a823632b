-- `vim.ui.select` as pickers do it: a float with one row for each item. <CR> chooses, `q` closes.
-- `_G.way`: `opens_later` (dressing), `answers` `at_once`, `later` (snacks, dressing, fzf-lua),
-- `item` (telescope, without the index) or `elsewhere` (in another window);
-- `is_silent` if `q` does not call back (telescope). `_G.opened` counts the floats.
_G.way, _G.opened = {}, 0
local function open(items, opts, on_choice)
  local way, buf = _G.way, vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.tbl_map(opts.format_item, items))
  local win = vim.api.nvim_open_win(buf, true, {
    relative = 'editor',
    row = 1,
    col = 1,
    width = 40,
    height = 5,
    border = 'single',
    title = opts.prompt,
  })
  _G.opened = _G.opened + 1
  local function answer(item, index)
    vim.api.nvim_win_close(win, true)
    if way.answers == 'later' then
      vim.schedule(function() on_choice(item, index) end)
    elseif way.answers == 'item' then
      on_choice(item)
    elseif way.answers == 'elsewhere' then
      vim.schedule(function()
        vim.cmd('botright new')
        on_choice(item, index)
      end)
    else
      on_choice(item, index)
    end
  end
  vim.keymap.set('n', '<CR>', function()
    local index = vim.api.nvim_win_get_cursor(win)[1]
    answer(items[index], index)
  end, { buffer = buf })
  vim.keymap.set('n', 'q', function()
    if way.is_silent then return vim.api.nvim_win_close(win, true) end
    answer(nil, nil)
  end, { buffer = buf })
end
vim.ui.select = function(items, opts, on_choice)
  if not _G.way.opens_later then return open(items, opts, on_choice) end
  vim.schedule(function() open(items, opts, on_choice) end)
end
