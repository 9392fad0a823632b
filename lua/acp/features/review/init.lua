--- Review of pending edits, in the buffers and in a tab page, and of edits that need permission.
---@type acp.Feature
return {
  subcommands = {
    review = { 'pending edits side by side', 'Review', 1, applies = 'edits' },
    accept = { 'keep the hunk under the cursor; file, all', 'Review', 2, applies = 'edits' },
    reject = { 'undo the hunk under the cursor; file, all', 'Review', 3, applies = 'edits' },
    unreject = { 'undo the last reject', 'Review', 4 },
    edits = { 'list pending hunks in the quickfix list', 'Review', 5 },
    comment = { 'comment on the hunk under the cursor', 'Review', 7 },
  },
  maps = {
    ['next-hunk'] = function() require('acp.features.review.hunk').jump(vim.v.count1) end,
    ['prev-hunk'] = function() require('acp.features.review.hunk').jump(-vim.v.count1) end,
  },
  windows = { 'edits', 'review', 'review_files' },
  frame = {
    remark = { 'comment', 'set_lines' },
    remarked = { 'comment', 'on_remarks_sent' },
    noted = { 'comment', 'add_note' },
    hunks = { 'inline', 'set' },
    next_hunk = { 'hunk', 'go_to_next' },
    review = { 'actions', 'open' },
    compare = { 'comparison', 'open' },
    propose = { 'proposal', 'open' },
    propose_marks = { 'proposal', 'set_marks' },
    quickfix = { 'list', 'quickfix' },
  },
  signals = {
    remarks_restored = { 'comment', 'restore' },
    remarks_to_store = { 'comment', 'by_directory', if_loaded = true },
    hunks_changed = { 'actions', 'on_hunks_changed', if_loaded = true },
    options_changed = { 'inline', 'redraw', if_loaded = true },
    past = function(past)
      local inline = package.loaded['acp.features.review.inline']
      local comment = package.loaded['acp.features.review.comment']
      past.shown = inline and inline.paths() or {}
      past.remarks, past.notes = comment and comment.remarks(), comment and comment.notes()
    end,
    question_amended = { 'proposal', 'edited_texts', if_loaded = true },
    review_wanted = { 'proposal', 'ask' },
    question_shown = { 'proposal', 'open_id', if_loaded = true },
  },
}
