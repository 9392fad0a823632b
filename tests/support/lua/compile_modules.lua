local root, target = unpack(arg)
for name, type in vim.fs.dir(root, { depth = 20 }) do
  if type == 'file' and vim.endswith(name, '.lua') then
    local module = name:gsub('%.lua$', ''):gsub('/init$', ''):gsub('/', '.')
    local file = assert(io.open(('%s/%s.luac'):format(target, module), 'wb'))
    file:write(string.dump(assert(loadfile(root .. '/' .. name))))
    file:close()
  end
end
