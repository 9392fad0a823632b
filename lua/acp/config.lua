--- Options: the defaults and the values set by `setup()`. `setup()` is optional.
local M = {}

--- All options with their defaults (`:help acp-options`). `M.optional` lists those that are nil.
---@type acp.Config
M.defaults = {
  agent = 'tutor',
  agents = require('acp.base.settings.known_agents'),
  agents_file = nil,
  -- name -> { agent, model, mode, options, tools, rules, system_prompt } of a session, all optional
  presets = {},
  -- name -> text, { text = …, preset = … } or function(ctx), beside those of `:Acp ask`. `false`
  -- removes one.
  prompts = {},
  python = nil,
  mcp_servers = {},
  -- The editor's own tools: true, false, or a list of names. Agents can have their own value.
  tools = true,
  -- Whether to show an agent's permission request for such a tool to the user.
  tools_ask = false,
  -- `_meta` of every session. `traceparent`, `tracestate` and `baggage` are also sent with prompts.
  meta = {},
  files = {
    outside = 'ask',
    -- Reading and writing these always requires permission. '!' removes earlier matches.
    secret = {
      -- settings of programs, with credentials
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
      -- folders and files of programs with both
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
    -- Writing these always requires permission. They are run automatically: hooks, start-up files,
    -- settings that an editor or agent reads when it opens a folder. Files that the user runs by
    -- name (Makefile, package.json, conftest.py) or that run nothing (.gitattributes) are not
    -- listed.
    executed = {
      -- version control and its commit hooks
      '.{git,hg,jj}',
      '.{husky,githooks,git-hooks}',
      '.pre-commit-config.yaml',
      '{lefthook,.lefthook,lefthook-local,.lefthook-local}.{yml,yaml,toml,json}',
      '.overcommit.yml',
      '.gitconfig',
      -- agents
      '{.mcp.json,mcp.json}',
      '.{claude,codex,gemini,cursor,opencode,qwen,kiro,windsurf,goose}',
      '.{copilot,factory,augment,junie,amazonq,openhands,roo,kilocode,continue,aider.conf.yml}',
      '{opencode.json,opencode.jsonc,crush.json,.crush.json}',
      -- editors
      '.{vscode,idea,zed,helix,fleet,devcontainer,devcontainer.json}',
      '*.code-workspace',
      '.{nvim,neoconf.json}',
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
      -- start-up files of interpreters, debuggers and package managers
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
    images = true,
  },
  composer = { height = 7, popup = true },
  -- `diagnostics`: show what language servers report about an edit before you allow it.
  review = { inline = true, signs = true, diagnostics = true },
  follow = false,
  checkpoints = true,
  -- Remember which prompt wrote which line, for `:Acp blame`.
  blame = false,
  -- Output of `:Acp blame export`: 'trace' for an Agent Trace, 'notes' for git notes in
  -- refs/notes/acp, or a ref for git notes, 'refs/notes/…'.
  blame_export = 'trace',
  notify = true,
  -- Show in the terminal's tab and as messages that a turn is running or waiting: true, false, or a
  -- list of 'osc' and 'message'.
  progress = false,
  -- window -> key -> action, or { action, mode = … }; the default mode is 'n'. `false` instead of
  -- an action, a window's table or the whole option removes the keys.
  keymaps = {
    composer = {
      ['<C-s>'] = { 'send', mode = { 'i', 'n' } },
      ['<CR>'] = 'send',
      ['<C-x><C-s>'] = { 'send_now', mode = { 'i', 'n' } },
      ['ZZ'] = 'finish',
      ['<C-x><C-o>'] = { 'complete', mode = 'i' },
      ['<C-c>'] = 'cancel',
      ['<S-Tab>'] = { 'next_mode', mode = { 'i', 'n' } },
      ['<C-p>'] = 'earlier',
      ['<C-n>'] = 'later',
      ['g/'] = 'search',
      ['gf'] = 'open_file',
      ['gF'] = 'open_file_at_line',
      ['g?'] = 'help',
    },
    -- An empty composer while the agent suggests a prompt.
    suggestion = {
      ['<Tab>'] = { 'take', mode = { 'i', 'n' } },
    },
    chat = {
      ['<CR>'] = 'act',
      ['<2-LeftMouse>'] = 'click',
      ['gf'] = 'open_file',
      ['gF'] = 'open_file_at_line',
      ['i'] = 'compose',
      ['a'] = 'compose',
      [']]'] = 'next_turn',
      ['[['] = 'previous_turn',
      ['<C-c>'] = 'cancel',
      ['<S-Tab>'] = 'next_mode',
      ['x'] = 'stop',
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- The permission float, and the chat while the cursor is on a pending permission. 1 to 9 choose
    -- an option by its number.
    permission = {
      ['y'] = 'allow_once',
      ['Y'] = 'allow_always',
      ['n'] = 'reject_once',
      ['N'] = 'reject_always',
      ['c'] = 'refuse',
      ['<CR>'] = 'open',
      ['<2-LeftMouse>'] = 'click', -- in the float only
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
    -- Lines written by an agent, in a buffer with `:Acp blame` on.
    blame = { ['<CR>'] = 'open' },
    -- The two windows of the review.
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
    -- The review's list of files.
    review_files = {
      ['<CR>'] = 'open',
      ['<2-LeftMouse>'] = 'open',
      [']f'] = 'next_file',
      ['[f'] = 'previous_file',
      ['a'] = 'accept_file',
      ['r'] = 'reject_file',
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- The racers' files in `:Acp race`.
    race = {
      ['dp'] = { 'take', mode = { 'n', 'x' } },
      ['<localleader>A'] = 'take_file',
      [']r'] = 'next_racers',
      ['[r'] = 'previous_racers',
      [']f'] = 'next_file',
      ['[f'] = 'previous_file',
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- A form from an agent.
    form = {
      ['<CR>'] = 'choose',
      ['<2-LeftMouse>'] = 'choose',
      ['<C-s>'] = { 'review', mode = { 'i', 'n' } },
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- The list of queued prompts.
    queue = {
      ['<C-s>'] = { 'apply', mode = { 'i', 'n' } },
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- The list of checkpoints.
    checkpoints = {
      ['<CR>'] = 'changes',
      ['<2-LeftMouse>'] = 'changes',
      ['r'] = 'restore',
      ['!'] = 'restore_all',
      ['u'] = 'undo',
      ['R'] = 'refresh',
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- The overview of all sessions. The keys of a permission work on a waiting session.
    overview = {
      ['<CR>'] = 'open',
      ['<2-LeftMouse>'] = 'click',
      ['s'] = 'send',
      ['i'] = 'compose',
      ['x'] = 'cancel',
      ['D'] = 'close_session',
      ['<Tab>'] = 'fold',
      [']]'] = 'next_session',
      ['[['] = 'previous_session',
      ['R'] = 'refresh',
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- The list of rules.
    rules = { ['d'] = 'remove', ['q'] = 'close', ['g?'] = 'help' },
    -- A report for a bug.
    report = {
      ['<C-s>'] = { 'write', mode = { 'i', 'n' } },
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    -- Plan, info, log and other read-only windows.
    view = {
      ['q'] = 'close',
      ['gf'] = 'open_file',
      ['gF'] = 'open_file_at_line',
      ['g?'] = 'help',
    },
    -- An agent's terminal in Normal mode. In Terminal mode all keys go to the program.
    terminal = { ['q'] = 'close', ['<C-c>'] = 'stop', ['g?'] = 'help' },
  },
  history = { enabled = true, days = 90, bytes = 256 * 1024 * 1024 },
  -- `dir` is a directory for worktrees, `setup` a command that runs in each new one.
  worktrees = {},
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
M.optional = { 'agents_file', 'python', 'worktrees.dir', 'worktrees.setup' }

--- Mistakes in the last `setup()`, one line each.
---@type string[]
M.mistakes = {}

local options ---@type acp.Config|nil

--- Return the current options. Callers must not change them.
---@return acp.Config
function M.get()
  options = options or vim.deepcopy(M.defaults)
  return options
end

--- Report all mistakes to the user, after VimEnter. An earlier message would cause a hit-enter
--- prompt.
local function report()
  local function emit() require('acp.base.signals').emit('options_wrong', M.mistakes) end
  if #M.mistakes == 0 then
    return
  elseif vim.v.vim_did_enter == 1 then
    emit()
  else
    vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = vim.schedule_wrap(emit) })
  end
end

--- Merge `opts` over the defaults. Unknown options and wrong values are reported and ignored.
---@param opts? table
function M.setup(opts)
  options, M.mistakes =
    require('acp.base.settings.check').merge(M.defaults, opts ~= vim.NIL and opts or {})
  report()
  require('acp.base.signals').emit('options_changed')
end

--- Return the sorted names of the configured agents, including those of `agents_file`.
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

--- Return the entries of `agents_file`. The list is empty if the option is not set or the file
--- cannot be read.
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

--- Return `value` for MessagePack, with an empty table as an empty map instead of an empty array.
---@param value table<string, any>|nil
local function map(value) return next(value or {}) == nil and vim.empty_dict() or value end

--- Return the arguments of the verb `setup`: all options except those that only Lua uses, Neovim's
--- standard paths, and the number of the next session.
---@return table
function M.for_host()
  local args = vim.deepcopy(M.get())
  for _, name in ipairs({ 'keymaps', 'composer', 'notify', 'progress', 'prompts' }) do
    args[name] = nil
  end
  args.agents_file = args.agents_file and vim.fn.expand(args.agents_file) or nil
  for name, agent in pairs(args.agents) do
    args.agents[name] = map(agent)
    agent.env = agent.env and map(vim.tbl_map(tostring, agent.env))
    agent.headers = agent.headers and map(agent.headers)
    agent.paths = agent.paths and map(agent.paths)
    -- The host calls the function by the agent's name.
    if type(agent.via) == 'function' then agent.via = true end
    agent.meta = agent.meta and map(agent.meta)
    agent.options = agent.options and map(agent.options)
  end
  args.agents, args.meta = map(args.agents), map(args.meta)
  args.worktrees = map(args.worktrees)
  args.stdpath = {}
  for _, what in ipairs({ 'cache', 'data', 'log', 'run', 'state' }) do
    args.stdpath[what] = vim.fn.stdpath(what)
  end
  args.neovim = tostring(vim.version()):gsub('%+.*', '')
  args.next_session = require('acp.base.state').next()
  return args
end

return M
