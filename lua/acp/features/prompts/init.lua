--- Prompts: the composer, the queue, attachments, and texts that have not been sent.
---@type acp.Feature
return {
  subcommands = {
    prompt = { 'send a prompt, or write one', 'Talk', 1 },
    cancel = { 'cancel the turn', 'Talk', 2, applies = 'running' },
    send = { 'send now, before queued prompts', 'Talk', 3 },
    queue = { 'waiting prompts', 'Talk', 5, applies = 'waits' },
    attach = { 'files to send with the next prompt', 'Talk', 6 },
  },
  functions = {
    attach = { 'attach', 'attach' },
    prompt = { 'delivery', 'write' },
    cancel = { 'commands', 'cancel' },
  },
  commands = {
    AcpPrompt = { 'commands', 'prompt' },
    AcpCancel = { 'commands', 'cancel' },
  },
  windows = { 'composer', 'suggestion', 'queue' },
  frame = {
    attached = { 'attachments', 'add' },
    clipboard_unread = { 'clipboard', 'attach' },
    open_file = { 'attachments', 'open' },
    composer = { 'composer', 'return_prompt' },
    composer_moves = { 'composer', 'move' },
    prompts = { 'earlier_prompts', 'receive' },
    forget_prompts = { 'earlier_prompts', 'forget' },
    taken = { 'delivery', 'on_confirmed' },
  },
  signals = {
    attached = { 'composer.decoration', 'draw' },
    cancel_pressed = { 'commands', 'cancel_session' },
    chat_hides = { 'composer.swap', 'hide', if_loaded = true },
    chat_opened = { 'composer.swap', 'on_opened' },
    chat_replaced = { 'composer.swap', 'replace' },
    chat_shown = { 'composer.swap', 'show_again', if_loaded = true },
    composer_opens = { 'drafts', 'restore' },
    composer_wanted = { 'composer', 'open_insert' },
    draft_changed = { 'drafts', 'save_later' },
    unsent_changed = { 'drafts', 'save_now' },
    drafts_wanted = { 'drafts', 'restore' },
    lines_chosen = { 'chips', 'create' },
    host_exited = function()
      require('acp.features.prompts.delivery').on_host_exit()
      local earlier = package.loaded['acp.features.prompts.earlier_prompts']
      if earlier then earlier.on_host_exit() end
    end,
    past = { 'draft_file', 'add_sent_path' },
    prompt_context = { 'context', 'prompt' },
    prompt_comes_back = { 'composer', 'return_prompt' },
    prompt_sent = { 'delivery', 'on_sent' },
    prompt_wanted = { 'delivery', 'write' },
  },
}
