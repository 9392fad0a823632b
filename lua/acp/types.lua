---@meta
--- Types of the Lua side: state, handlers and options, with the names of the manual.

--- Row, column, end column (0-based, bytes), highlight group.
---@alias acp.Span { [1]: integer, [2]: integer, [3]: integer, [4]: string }

---@class acp.PromptOpts
---@field session? integer
---@field new? boolean send it in a new session
---@field agent? string
---@field preset? string a new session gets it, unless the current one has it
---@field attach? string[] paths
---@field meta? table<string, any> `_meta` of the request, such as `traceparent`

---@class acp.ExtensionContext
---@field agent string
---@field method string
---@field session? integer session number, if the params name a session
---@field request boolean whether an answer is expected

--- The return value is the result; `nil, { code, message, data }` is an error. To answer later,
--- return a function, which is called with `reply(result, err)`. An error that the handler raises
--- is sent as -32603.
---@alias acp.ExtensionHandler fun(params: any, context: acp.ExtensionContext): any, any

---@class acp.ExtensionError
---@field code? integer -32603 by default
---@field message? string
---@field data? any

---@class acp.ToolSpec
---@field description string description for the model
---@field schema? table JSON schema of the arguments, of type 'object'
---@field write? boolean it changes something, so each call needs permission
---@field run acp.ToolFunction

---@class acp.ToolContext
---@field session integer session number
---@field cwd string the session's directory
---@field agent string

--- `args` are the agent's arguments without null members. The return value is the result, a text or
--- a table; `nil, message` is an error. To answer later, return a function, which is called with
--- `reply(result, err)` and may return a function that cancels the call.
---@alias acp.ToolFunction fun(args: table, ctx: acp.ToolContext): any, any

---@class acp.State
---@field host 'stopped'|'starting'|'running'|'failed'
---@field current? integer
---@field agents table<string, acp.Agent>
---@field sessions table<integer, acp.Session>
---@field elicitations acp.Elicitation[] elicitations that belong to no session

---@class acp.Agent
---@field status 'starting'|'ready'|'auth_required'|'exited'|'failed'
---@field pid? integer
---@field url? string address without parts that may be secret
---@field protocol? integer
---@field info? table
---@field capabilities? table
---@field auth_methods? { id: string, name: string, description?: string }[]
---@field auth? { state: string, accounts?: table[] } login state reported by the agent
---@field error? string

---@class acp.Session
---@field id? string
---@field agent string
---@field preset? string
---@field purpose? 'edit' task for which it was created without a chat window
---@field worktree? { path: string, branch: string } its git worktree (`:Acp new!`)
---@field trust? 'edits'|'all' permissions that are allowed without asking
---@field title? string
---@field topic? string beginning of the first prompt
---@field cwd string
---@field since integer time at which the status began, in seconds since 1970
---@field status 'starting'|'idle'|'running'|'cancelling'|'closed'|'failed'
---@field stop_reason? string
---@field error? string
---@field queue? string[]
---@field plan? { content: string, priority: string, status: string }[]
---@field tool_calls? acp.ToolCall[]
---@field modes? { current: string, available: acp.Mode[] }
---@field options? table[] config options in wire format
---@field commands? { name: string, description: string, hint?: string }[]
---@field usage? { used: integer, size: integer, cost?: { amount: number, currency: string } }
---@field turn_usage? table<string, integer> tokens of the last turn
---@field model? { option: string, value: string, name: string }
---@field retrying? string why the agent retries
---@field permissions? acp.Permission[]
---@field elicitations? acp.Elicitation[]
---@field questions? acp.Permission[] questions of the plugin itself
---@field more? table<string, integer> number of omitted items by name of a truncated list
---@field subagents? acp.Subagent[]
---@field parent? integer session that has started this subagent
---@field edits? acp.Edit[]
---@field checkpoints? { n: integer, label: string }[] oldest first
---@field terminals? acp.Terminal[]
---@field tools? acp.ToolUse the editor's own tools, if they are offered
---@field elsewhere? string name of a session of another Neovim with edits or checkpoints here
---@field chat_bufnr? integer
---@field composer_bufnr? integer

---@class acp.ToolUse
---@field names string[]
---@field connected integer open connections
---@field calls integer
---@field failed integer
---@field slowest_ms integer

---@class acp.Mode
---@field id string
---@field name string
---@field description? string

---@class acp.ToolCall
---@field id string
---@field title string
---@field kind string
---@field status string
---@field locations? { path: string, line?: integer }[]

---@class acp.PermissionOption
---@field id string
---@field name string
---@field kind 'allow_once'|'allow_always'|'reject_once'|'reject_always'

---@class acp.Permission
---@field id integer|string
---@field tool_call? string
---@field title string
---@field kind? string
---@field since integer time at which it was asked, in seconds since 1970
---@field options acp.PermissionOption[]
---@field shown_ms? integer time since it appeared on the screen, nil before that

---@class acp.Elicitation
---@field id string
---@field mode 'form'|'url'
---@field message string
---@field url? string
---@field since integer time at which it was asked, in seconds since 1970

---@class acp.Subagent
---@field id string id given by the agent
---@field session? integer number of its session, which has a chat
---@field title? string
---@field description? string
---@field state string running, requires_action, idle, unknown, gone or a custom word of the agent
---@field stop_reason? string
---@field error? string

---@class acp.Edit
---@field path string
---@field hunks integer
---@field added integer
---@field removed integer
---@field kind 'modified'|'created'|'deleted'
---@field conflict? boolean
---@field named boolean whether the agent has named the changed file
---@field note? string a change that no line shows, of line endings, BOM or final newline
---@field instructions? string[] those of the inline edits that made hunks

---@class acp.Terminal
---@field id string
---@field command string
---@field running boolean
---@field exit_code? integer
---@field signal? string name of the signal

---@class acp.AgentConfig
---@field command? string[] the program first
---@field url? string address of a remote agent, instead of a command
---@field headers? table<string, string> HTTP headers for requests to `url`
---@field via? string|string[]|fun(session: acp.Session): string[] words before its commands
---@field host? string for `via = 'ssh'`
---@field container? string for `via = 'docker'` and `'kubectl'`
---@field pod? string for `via = 'kubectl'`
---@field paths? table<string, string> directories there by directories here
---@field env? table<string, string|number>
---@field cwd? string
---@field auth_method? string
---@field mode? string
---@field options? table<string, string|boolean>
---@field mcp_servers? table[]
---@field tools? boolean|string[]
---@field system_prompt? string|{ text: string, mode?: 'append'|'override' }
---@field meta? table<string, any> `_meta` of its sessions
---@field protocol? 1|2
---@field channel? 'stable'|'preview' release of an agent of `agents_file`
---@field title? string display name until the agent sends its own
---@field install? string installation command or address, shown if the program is missing
---@field store? string[] globs of the agent's internal files

---@class acp.Rule
---@field action 'allow'|'deny'|'ask'
---@field kind? string|string[]
---@field path? string|string[]
---@field command? string|string[]
---@field agent? string|string[]

---@class acp.Preset
---@field agent? string
---@field model? string value of the option that selects the model
---@field mode? string
---@field options? table<string, string|boolean>
---@field tools? boolean|string[]
---@field rules? acp.Rule[]
---@field system_prompt? string|{ text: string, mode?: 'append'|'override' }

---@class acp.Config
---@field agent string
---@field agents table<string, acp.AgentConfig>
---@field agents_file? string
---@field presets table<string, acp.Preset>
---@field prompts table<string, string|{ text: string, preset?: string }|function|false>
---@field python? string
---@field mcp_servers table[]
---@field tools boolean|string[]
---@field tools_ask boolean
---@field meta table<string, any>
---@field files acp.FilesConfig
---@field permission { rules: acp.Rule[] }
---@field terminal { enabled: boolean, output_limit: integer }
---@field chat acp.ChatConfig
---@field composer { height: integer, popup: boolean }
---@field review { inline: boolean, signs: boolean, diagnostics: boolean }
---@field follow boolean
---@field checkpoints boolean
---@field blame boolean
---@field blame_export string
---@field history { enabled: boolean, days: number, bytes: integer }
---@field notify boolean|acp.NotifyWay|acp.NotifyWay[]
---@field progress boolean|('osc'|'message')[]
---@field keymaps table<string, table<string, acp.KeyConfig>|string|boolean>|false
---@field worktrees { dir?: string, setup?: string|string[] }
---@field log { level: string, bytes: integer, redact: boolean }
---@field limits { message_bytes: integer, pending_bytes: integer, tool_output_bytes: integer }
---@field timeouts { cancel_s: number, kill_s: number, silent_s: number }

---@class acp.FilesConfig
---@field outside 'ask'|'deny'|'allow'
---@field secret string[] globs
---@field executed string[] globs
---@field directories string[]
---@field save 'auto'|'always'|'never'
---@field autocmds boolean
---@field unsaved 'attach'|'save'|'ask'|'ignore'

---@class acp.ChatConfig
---@field open boolean
---@field layout acp.Layout
---@field size number
---@field bar boolean
---@field thoughts 'fold'|'show'|'hide'
---@field tool_lines integer
---@field images boolean

---@alias acp.KeyConfig string|false|{ [1]: string, mode?: string|string[] }
