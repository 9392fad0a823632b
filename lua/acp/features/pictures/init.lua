--- Images from agents and in attachments, drawn below their rows in a chat (option `chat.images`).
---@type acp.Feature
return {
  signals = {
    picture_seen = { 'pictures', 'on_drawn' },
    options_changed = { 'pictures', 'refresh', if_loaded = true },
    host_exited = { 'pictures', 'clear', if_loaded = true },
  },
}
