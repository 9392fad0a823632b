--- Options: their defaults, and what `setup()` made of them. Works without `setup()`.
local M = {}

--- The one list of options (`:help acp-options`). Absent ones that may be set: see `M.optional`.
---@type acp.Config
M.defaults = {
  agent = 'tutor',
  agents = require('acp.base.presets'),
  agents_file = nil,
  python = nil,
  mcp_servers = {},
  -- The editor's own tools: true, false, or a list of their names; also per agent.
  tools = true,
  -- Whether an agent's question about such a tool is put to you.
  tools_ask = false,
  -- `_meta` of every session; `traceparent`, `tracestate` and `baggage` go with prompts, too.
  meta = {},
  files = {
    outside = 'ask',
    -- Read or written: always asked. '!' takes away again.
    secret = {
      -- settings of programs, with what to sign in with
      '.env',
      '.env.*',
      '.env~',
      '.envrc',
      '*.env',
      '..env*.sw?',
      '!.env.{example,sample,template,dist,defaults,schema}',
      '!{example,sample,template}.env',
      '.{netrc,npmrc,pypirc,pgpass,my.cnf,mylogin.cnf,htpasswd,dockercfg,s3cfg,boto}',
      '_netrc',
      'pgpass.conf',
      '.{git-credentials,vault-token,terraformrc}',
      '*.tfstate',
      '*.tfstate.*',
      '{secrets,credentials}.{yml,yaml,json,toml,ini}',
      'client_secret*.json',
      '.*_history',
      -- keys
      '*.{pem,key,p12,pfx,jks,keystore,ppk,kdbx}',
      'id_{rsa,dsa,ecdsa,ed25519}*',
      '!*.pub',
      -- where programs keep both
      '**/.{ssh,aws,azure,gnupg,kube,oci,password-store}/**',
      '{kubeconfig,*.kubeconfig}',
      '**/.config/{gcloud,gh,glab-cli,hub,doctl,op,rclone}/**',
      '**/.docker/config.json',
      '**/.{cargo,gem}/{credentials,credentials.toml}',
      '**/.{codex,composer}/auth.json',
      '**/.claude/.credentials.json',
      '**/.gemini/oauth_creds.json',
      '**/.m2/settings.xml',
      '**/.gradle/gradle.properties',
      '**/.local/share/keyrings/**',
    },
    -- Written: always asked. What runs because it lies there, sooner or later and unasked: hooks,
    -- start-up files, what an editor or an agent reads as it opens a folder. Not what one runs by
    -- name (Makefile, package.json, conftest.py), nor what names nothing to run (.gitattributes).
    executed = {
      -- version control, and what it runs at each commit
      '.{git,hg,jj}',
      '.{husky,githooks,git-hooks}',
      '.pre-commit-config.yaml',
      '{lefthook,.lefthook,lefthook-local,.lefthook-local}.{yml,yaml,toml,json}',
      '.overcommit.yml',
      '.gitconfig',
      -- agents
      '{.mcp.json,mcp.json}',
      '.{claude,codex,gemini,cursor,opencode,qwen,kiro,windsurf,goose}',
      'opencode.{json,jsonc}',
      -- editors
      '.{vscode,idea,zed,helix,fleet,devcontainer,devcontainer.json}',
      '*.code-workspace',
      '.{exrc,nvimrc,nvim.lua,lazy.lua,vimrc,gvimrc,lvimrc,vim,emacs,emacs.d,dir-locals.el}',
      -- shells and sessions
      '.{envrc,mise.toml,mise.local.toml,mise,rtx.toml,autoenv}',
      '{mise,mise.local}.toml',
      '.{bashrc,bash_profile,bash_login,bash_logout,bash_aliases,profile,inputrc}',
      '.{zshrc,zshenv,zprofile,zlogin,zlogout,kshrc,cshrc,tcshrc,login,logout}',
      '.{xprofile,xinitrc,xsession,xsessionrc,pam_environment,tmux.conf,screenrc}',
      '**/.config/{fish,nushell,nvim,git,mise,direnv,tmux,systemd,autostart,environment.d}/**',
      '**/.local/share/nvim/**',
      '**/Library/LaunchAgents/**',
      -- interpreters, debuggers and package managers, as soon as they start
      '.{gdbinit,lldbinit,pdbrc,irbrc,pryrc,Rprofile,ghci,ocamlinit,psqlrc,sqliterc}',
      '{sitecustomize,usercustomize}.py',
      '**/site-packages/*.pth',
      '.{npmrc,yarnrc,yarnrc.yml,pnpmfile.cjs}',
      '**/.yarn/{releases,plugins}/**',
      '**/.cargo/{config,config.toml}',
    },
    directories = {},
    save = 'auto',
    autocmds = true,
    unsaved = 'attach',
  },
  permission = { rules = {} },
  terminal = { enabled = true, output_limit = 1024 * 1024 },
  chat = {
    open = true,
    layout = 'right',
    size = 0.4,
    bar = true,
    thoughts = 'fold',
    tool_lines = 8,
  },
  composer = { height = 7, popup = true },
  -- `diagnostics`: what language servers say of an edit before you allow it.
  review = { inline = true, signs = true, diagnostics = true },
  follow = false,
  checkpoints = true,
  -- Remember which prompt wrote which line, for `:Acp blame`.
  blame = false,
  -- What `:Acp blame export` makes: 'trace', an Agent Trace; 'notes', git notes in refs/notes/acp;
  -- or git notes in a ref that you name, 'refs/notes/…'.
  blame_export = 'trace',
  notify = true,
  -- window -> key -> action, or { action, mode = … }; mode is 'n' unless it is said. `false` in
  -- place of an action, of a window's table or of the whole takes the keys away.
  keymaps = {
    composer = {
      ['<C-s>'] = { 'send', mode = { 'i', 'n' } },
      ['<CR>'] = 'send',
      ['<C-x><C-s>'] = { 'send_now', mode = { 'i', 'n' } },
      ['ZZ'] = 'finish',
      ['<C-x><C-o>'] = { 'complete', mode = 'i' },
      ['<C-c>'] = 'cancel',
      ['<C-p>'] = 'earlier',
      ['<C-n>'] = 'later',
      ['g/'] = 'search',
      ['gf'] = 'open_file',
      ['gF'] = 'open_file_at_line',
      ['g?'] = 'help',
    },
    -- A composer while the agent suggests a prompt, and nothing else is written.
    suggestion = {
      ['<Tab>'] = { 'take', mode = { 'i', 'n' } },
    },
    chat = {
      ['<CR>'] = 'act',
      ['gf'] = 'open_file',
      ['gF'] = 'open_file_at_line',
      ['i'] = 'compose',
      ['a'] = 'compose',
      [']]'] = 'next_turn',
      ['[['] = 'previous_turn',
      ['<C-c>'] = 'cancel',
      ['x'] = 'stop',
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- In the permission float, and in the chat while the cursor is on a pending permission; 1 to 9
    -- choose an option by its number.
    permission = {
      ['y'] = 'allow_once',
      ['Y'] = 'allow_always',
      ['n'] = 'reject_once',
      ['N'] = 'reject_always',
      ['<CR>'] = 'open',
      ['d'] = 'review',
      ['q'] = 'close', -- in the float only
      ['g?'] = 'help',
    },
    -- A buffer with pending edits.
    edits = {
      [']h'] = 'next_hunk',
      ['[h'] = 'previous_hunk',
      ['<localleader>a'] = 'accept_hunk',
      ['<localleader>r'] = 'reject_hunk',
    },
    -- A buffer in which `:Acp blame` is on, where an agent wrote the line.
    blame = { ['<CR>'] = 'open' },
    -- The two sides of the review, in their windows only.
    review = {
      ['do'] = 'obtain',
      ['dp'] = 'put',
      [']f'] = 'next_file',
      ['[f'] = 'previous_file',
      ['<localleader>A'] = 'accept_file',
      ['<localleader>R'] = 'reject_file',
      ['<localleader>q'] = 'close',
      ['g?'] = 'help',
    },
    -- The list of files below them.
    review_files = {
      ['<CR>'] = 'open',
      [']f'] = 'next_file',
      ['[f'] = 'previous_file',
      ['a'] = 'accept_file',
      ['r'] = 'reject_file',
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- A form that an agent asks to be filled in.
    form = {
      ['<CR>'] = 'choose',
      ['<C-s>'] = { 'review', mode = { 'i', 'n' } },
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- Prompts that wait.
    queue = {
      ['<C-s>'] = { 'apply', mode = { 'i', 'n' } },
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- The files before each prompt.
    checkpoints = {
      ['<CR>'] = 'changes',
      ['r'] = 'restore',
      ['!'] = 'restore_all',
      ['u'] = 'undo',
      ['R'] = 'refresh',
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- Plan, info, log and other windows one only reads.
    view = {
      ['q'] = 'close',
      ['gf'] = 'open_file',
      ['gF'] = 'open_file_at_line',
      ['g?'] = 'help',
    },
    -- An agent's terminal, in Normal mode; in Terminal mode all keys are the program's.
    terminal = { ['q'] = 'close', ['<C-c>'] = 'stop', ['g?'] = 'help' },
  },
  history = { enabled = true, days = 90, bytes = 256 * 1024 * 1024 },
  log = { level = 'info', bytes = 8 * 1024 * 1024, redact = true },
  limits = {
    message_bytes = 64 * 1024 * 1024,
    pending_bytes = 64 * 1024 * 1024,
    tool_output_bytes = 1024 * 1024,
  },
  timeouts = { cancel_s = 3, kill_s = 2, silent_s = 60 },
}

for i = 1, 9 do
  M.defaults.keymaps.permission[tostring(i)] = 'option_' .. i
end

--- Options whose default is nil.
M.optional = { 'agents_file', 'python' }

--- Mistakes in the last `setup()`, one line each.
---@type string[]
M.mistakes = {}

local options ---@type acp.Config|nil

--- The options in force. Do not change them.
---@return acp.Config
function M.get()
  options = options or vim.deepcopy(M.defaults)
  return options
end

--- Tell the user of all mistakes at once; before the first screen that would end in a prompt.
local function report()
  local function tell() require('acp.base.signals').emit('options_wrong', M.mistakes) end
  if #M.mistakes == 0 then
    return
  elseif vim.v.vim_did_enter == 1 then
    tell()
  else
    vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = vim.schedule_wrap(tell) })
  end
end

--- Merge `opts` over the defaults. What is unknown or of the wrong kind is reported and ignored.
---@param opts? table
function M.setup(opts)
  options, M.mistakes = require('acp.base.check').merge(M.defaults, opts ~= vim.NIL and opts or {})
  report()
  require('acp.base.signals').emit('options_changed')
end

--- Names of the agents that are configured, sorted; with those of `agents_file`.
---@return string[]
function M.agent_names()
  local names = {} ---@type table<string, true>
  for name in pairs(M.get().agents) do
    names[name] = true
  end
  for _, entry in ipairs(M.registry()) do
    names[entry.id or entry.name or ''] = true
  end
  names[''] = nil
  return require('acp.base.sorted_keys')(names)
end

--- Entries of `agents_file`; empty when there is none or it cannot be read (health says why).
---@return table[] entries
---@return string|nil error
function M.registry()
  local path = M.get().agents_file
  if not path then return {}, nil end
  local text, why = require('acp.base.read_file')(vim.fn.expand(path))
  if not text then return {}, why end
  local ok, data = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  if not ok or type(data) ~= 'table' then return {}, path .. ': not JSON' end
  return vim.islist(data.agents) and data.agents or {}, nil
end

--- `value` as msgpack must carry it: an empty table where names belong is an empty map.
---@param value table<string, any>|nil
local function map(value) return next(value or {}) == nil and vim.empty_dict() or value end

--- Arguments of the verb `setup`: every option but the keys, where Neovim keeps its files,
--- and the number that the next session gets.
---@return table
function M.for_host()
  local args = vim.deepcopy(M.get())
  args.keymaps, args.composer = nil, nil ---@diagnostic disable-line: assign-type-mismatch
  args.agents_file = args.agents_file and vim.fn.expand(args.agents_file) or nil
  for name, agent in pairs(args.agents) do
    args.agents[name] = map(agent)
    agent.env = agent.env and map(vim.tbl_map(tostring, agent.env))
    agent.headers = agent.headers and map(agent.headers)
    agent.meta = agent.meta and map(agent.meta)
    agent.options = agent.options and map(agent.options)
  end
  args.agents, args.meta = map(args.agents), map(args.meta)
  args.stdpath = {}
  for _, what in ipairs({ 'cache', 'data', 'log', 'run', 'state' }) do
    args.stdpath[what] = vim.fn.stdpath(what)
  end
  args.neovim = tostring(vim.version()):gsub('%+.*', '')
  args.next_session = require('acp.base.state').next()
  return args
end

return M
