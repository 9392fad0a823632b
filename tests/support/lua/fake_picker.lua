_G.acp_asked, _G.acp_answers = {}, {}
local function note(prompt, kind, items)
  table.insert(_G.acp_asked, { prompt = prompt, kind = kind, items = items })
  return table.remove(_G.acp_answers, 1)
end
vim.ui.select = function(items, opts, on_choice)
  local labels = vim.tbl_map(opts.format_item or tostring, items)
  local wanted = note((opts.prompt:gsub('[%s:]*$', '')), opts.kind, labels)
  for index, label in ipairs(labels) do
    if wanted and (label == wanted or label:find(wanted .. '  (', 1, true) == 1) then
      return on_choice(items[index], index)
    end
  end
  on_choice(nil, nil)
end
vim.ui.input = function(opts, on_confirm)
  local answer = note(opts.prompt, 'input', { opts.default })
  on_confirm(answer)
end
