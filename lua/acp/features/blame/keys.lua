--- Key of lines that an agent has written, in a buffer with `:Acp blame` on.
return {
  blame = {
    open = {
      'show the prompt that wrote this line',
      function(bufnr) require('acp.features.blame.view').open(bufnr) end,
    },
  },
}
