--- Every line that Lua shows to the user, to be read in one go. Callers fill the places with
--- |string.format()|. A line starts with a capital letter, ends without a period, fits into 80
--- columns, and names the way out where there is one. Names with `why_` are reasons that another
--- line quotes, with `part_` pieces of one: both start small.
--- `acp.base.install` loads this file by its path, so nothing is required.
return {
  -- Sessions and prompts
  no_session = 'No session yet. :AcpPrompt starts one',
  no_such_session = 'No session %s. :Acp sessions lists them',
  session_closed = 'This session is closed. Your next prompt opens a new one',
  session_of_another = 'Session %s belongs to %s, not to %s. Leave one of the two out',
  nothing_to_send = 'Nothing to send',
  nothing_to_cancel = 'Nothing to cancel',
  no_earlier_prompt = 'No earlier prompt',
  no_later_prompt = 'No later prompt',
  prompt_is_back = 'Your prompt is back in the composer. :AcpPrompt goes there',
  directory_gone = 'The current directory was deleted. :cd to another one',

  -- The queue
  queue_empty = 'The queue is empty',
  queue_emptied = 'The queue is empty now',
  queued_one = '1 prompt waiting',
  queued_many = '%d prompts waiting',
  queue_separator = 'Prompts are separated by the line',

  -- Attachments
  attached = 'With your next prompt: %s',
  attach_needs_file = ':Acp attach needs a file, or - for the image in the clipboard',
  attach_remove = 'Remove from your next prompt',
  attach_all = 'All of them',
  opens_not = '%s. The file is %s',

  -- Drafts
  drafts_not_kept = 'Drafts are not being saved: %s',
  why_draft_damaged = 'a draft is damaged, see %s.damaged',
  part_draft_back = 'your draft is back in the composer',
  part_old_draft = "an earlier draft is among the composer's earlier prompts",
  part_old_drafts = "%d earlier drafts are among the composer's earlier prompts",
  part_prompt_left = '1 unsent prompt: :Acp queue',
  part_prompts_left = '%d unsent prompts: :Acp queue',
  part_comment_left = '1 comment goes with your next prompt',
  part_comments_left = '%d comments go with your next prompt',

  -- Permissions and questions
  no_permission = 'No pending permission',
  no_question = 'No pending question %s',
  no_option = 'No option %d. Options: %s',
  no_option_of_kind = 'No option of kind %s. Options: %s',
  no_answer_here = 'There is no such option. See :Acp permissions',
  no_edits_shown = 'This permission shows no edits',
  list_changed = 'The list has just changed. Press the key again',
  amended = 'Your changes go with the answer: :Acp allow, or its key (g?)',
  a_question = 'A question',
  part_more = '(and %d more)',

  -- Forms
  form_summary = 'Summary, not sent yet:',
  form_send = 'Send? %s',
  form_actions = { 'Send', 'Keep editing', 'Decline' },
  form_over = 'Nothing was sent: the question is %s%s',

  -- Edits and review
  no_edits = 'No pending edits',
  no_hunk = 'No pending hunk',
  nothing_rejected = 'Nothing was rejected',
  no_checkpoints = 'No checkpoints yet. One is made before each prompt',
  no_checkpoint_here = 'No checkpoint under the cursor',
  restore_takes_number = "Restore takes the number of a prompt, not '%s'%s",
  review_ready = 'The review is ready. :Acp review opens it',
  review_done = 'Nothing left to review%s',
  comparison_only = 'This is already done. :Acp review has what waits for you',
  not_saved = 'Not saved: %s',
  no_file = 'This buffer has no file',
  not_a_path = '%s is not a file path',
  not_to_open = '%s: %s',
  changed_on_disk = '%s: the agent changed the same lines on disk. :Acp review shows both',
  conflict = 'Conflict with the text on disk. :Acp review shows both',
  edits_title = 'Pending edits',

  -- Following
  following = 'Following %s',
  following_paused = 'Paused. :Acp follow resumes',
  following_off = 'No longer following',
  follow_elsewhere = 'Use :Acp follow in a code window',

  -- Agents and logging in
  no_agent = 'No agent is running. :AcpPrompt starts one',
  nothing_to_choose = 'No %s to choose from',
  choose_agent = 'Agent for new sessions',
  log_in_to = 'Log in to %s',
  log_in_below = 'Log in below: %s',
  cannot_start = 'Cannot start %s: %s',
  why_not_executable = 'not executable',
  turn_ended = '%s has finished',
  turn_failed = '%s has failed',
  turn_at_token_limit = '%s has stopped: token limit reached',
  turn_at_request_limit = '%s has stopped: request limit reached',
  turn_refused = '%s refused to continue',

  -- Plan, terminals, addresses, dialogs
  no_plan = 'No plan yet',
  no_terminals = 'No terminals',
  could_not_open = 'Could not open %s',
  dialog_failed = 'The dialog failed: %s',
  handler_failed = '%s handler: %s',

  -- Commands and their arguments
  pick_subcommand = 'Acp',
  ask_argument = 'Acp %s: %s: ',
  takes_no_argument = ":Acp %s takes no argument, not '%s'",
  takes_one_argument = ":Acp %s takes at most 1 argument, not '%s'",
  takes_arguments = ":Acp %s takes at most %d arguments, not '%s'",
  takes_no_bang = ':Acp %s takes no !',
  needs = ':Acp %s needs %s',
  log_save_needs_file = ':Acp log save needs a file',
  unknown = "Unknown %s '%s'%s",
  part_did_you_mean = ", did you mean '%s'?",
  part_known = '. Known: %s',
  part_way = '. %s',
  see_subcommand = 'See :Acp %s',
  all_subcommands = ':Acp lists all',
  all_agents = ':Acp agent lists them',
  see_options = 'See :help acp-options',
  part_without = "without '%s'%s",
  wrong_argument = '%s(): %s should be %s, not %s',
  wrong_prompt = 'prompt() wants text or a list of content blocks, not a table of names',
  extension_name = "An extension's name starts with '_', not '%s'",
  extension_handler = 'The handler of %s is a function, not a %s',

  -- Options
  option_should = "Option '%s' should be %s",
  option_mode = "Option '%s': unknown mode '%s'",
  setup_takes_table = 'setup() takes a table',
  one_mistake = '1 mistake in setup(). See :checkhealth acp',
  mistakes = '%d mistakes in setup(). See :checkhealth acp',
  more_in_messages = '%s (%d more in :messages)',

  -- The host and its Python
  host_failed = 'The host did not start. See :checkhealth acp (%s)',
  host_slow = 'The host is still starting after %g s. See :checkhealth acp',
  host_cannot_start = 'The host cannot be started. See :checkhealth acp',
  host_ended = 'The host ended (%s). The next command restarts it%s',
  host_refused = 'The host did not take %s: %s',
  classic_failed = 'The remote plugin host did not start: %s',
  why_shared_host_gone = 'the shared Python host is gone',
  why_output_closed = 'its output was not MessagePack, or was closed',
  why_exit_code = 'exit code %d',
  part_edits_of_file = ', with the pending edits of 1 file',
  part_edits_of_files = ', with the pending edits of %d files',
  python_not_found = 'Python not found: %s. %s',
  python_too_old = 'Python %s is too old',
  venv_broken = 'The .venv is broken',
  with_way_out = '%s. %s (%s)',
  venv_way_out = '%s. %s',
  run_install = 'Run :Acp install',
  fix_option = 'Fix or remove the `python` option, then run :Acp install',

  -- Installing
  install_busy = 'The installation is already running',
  install_step = 'Install: %s (%d of %d)',
  install_failed = 'Install: %s failed (%d): %s',
  install_broke = 'Install: %s: %s',
  install_done = 'Installed. The next command uses %s',
  install_unused = 'Installed, but the `python` option comes first: %s',
  install_impossible = 'Install: %s',
  why_no_python = 'no Python 3.11 or later was found',
  part_make_uv = 'creating the environment with uv',
  part_make = 'creating the environment',
  part_fill_uv = 'installing with uv',
  part_check_pip = 'checking pip',
  part_fill = 'installing with pip',
  part_compile = 'compiling',
}
