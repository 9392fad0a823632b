--- Card without its first line, which is the title of the float.

local INDENT = 2 -- cells of the rows below a title

---@param card acp.Card
---@return acp.Card
return function(card)
  local lines, spans = {}, {}
  local indents = {}
  for i = 2, #card.lines do
    indents[i - 1] = math.min(#card.lines[i]:match('^ *'), INDENT)
    lines[i - 1] = card.lines[i]:sub(indents[i - 1] + 1)
  end
  for _, span in ipairs(card.spans or {}) do
    local shift = indents[span[1]]
    if shift then
      local first, last = math.max(span[2] - shift, 0), span[3] - shift
      if last > first then spans[#spans + 1] = { span[1] - 1, first, last, span[4] } end
    end
  end
  local head = card.head and card.head - 1
  local lead = card.lead and card.lead - 1
  local own = { lines = lines, spans = spans, head = head, lead = lead }
  return vim.tbl_extend('force', card, own)
end
