--- Prompts of the plugin. Option `prompts` adds others, or replaces these.

---@class acp.DefaultPrompt
---@field text string
---@field about? string appended if the prompt has no lines
---@field module? string module with a function that writes the text

---@type table<string, acp.DefaultPrompt>
local defaults = {
  explain = {
    text = [[
Explain this code to a developer who knows the language but not this project. Change no files.

Begin with its purpose in one or two sentences. Then explain how it works, in the order in which it
runs. Name its callers and the data that it depends on; read other files if you need them. End with
everything that is surprising, fragile or easy to misuse.]],
    about = '{function|buffer}',
  },
  fix = {
    text = [[
Fix the problems in this code. Begin with the diagnostics, if there are any: {diagnostics}

Find the cause of each problem and mend the cause; do not silence a warning. Keep the change as
small as possible, and do not reformat or rename anything else. If the project has tests of this
code, run them.

Then say in one sentence for each problem what was wrong.]],
    about = '{function|buffer}',
  },
  review = {
    text = [[
Review this code as a careful colleague would before it is merged. Change no files.

Read the code around it before you judge. Look for wrong results, missing cases, errors that are
not handled, races, leaks, security, and tests that should exist.

List your findings, the most serious one first: file and line, what goes wrong and with which
input, and your suggestion. Leave out matters of taste. If nothing is wrong, say so.]],
    about = '{diff}',
  },
  tests = {
    text = [[
Write tests for this code.

First look at the tests that the project has, and use their framework, their place, their names and
their helpers. Cover the normal case, the limits of the input, and each way in which the code can
fail. Each test checks one behaviour as callers see it, and fails if that behaviour breaks.

Run the tests. If one of them shows a fault in the code, report the fault and leave the code as it
is.]],
    about = '{function|buffer}',
  },
  docs = {
    text = [[
Document this code in the style that the project uses already.

Say what callers must know: purpose, arguments with their units and limits, result, errors and side
effects. Give a reason if the code cannot show it. Do not repeat names and types in words. Correct
comments that are no longer true. Change nothing but comments and documentation.]],
    about = '{function|buffer}',
  },
  commit = {
    text = [[
Write the message for a commit of these changes. Do not commit, and change no files.

Look at `git log` for the style of the project. The subject says in the imperative, in at most 72
characters, what the commit does. The body, after an empty line, says why, and everything that a
reader of the diff could not guess. If the changes are about several things, say how you would
split them.

Answer with the message in a code block.]],
    about = '{diff}',
  },
  conflicts = {
    text = [[
Resolve the merge conflicts of this file.

Find out for each conflict what both sides wanted to achieve: compare each of them with the base,
and look at `git log --merge` and at callers if that is not enough. The result must do both. If the
two contradict each other, keep the markers of that conflict and tell me the choice.

Edit the file so that the markers of the resolved conflicts are gone, and change nothing else. Do
not stage or commit anything. Then say in one sentence for each conflict how you resolved it.]],
    module = 'conflicts',
  },
}

for _, prompt in pairs(defaults) do
  prompt.text = prompt.text:gsub('([^\n])\n([^\n])', '%1 %2') -- one line for each paragraph
end

return defaults
