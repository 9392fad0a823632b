"""Texts that only the feature `login` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

ASK_VALUE: Final = "{variable} for {agent}{source}"
PART_VALUE_FROM: Final = " (from {link})"
NO_VALUE: Final = "No value given. You can also set {variable} in agents.{agent}.env"
VALUES_TAKEN: Final = "Restarting {agent} with these values, kept until Neovim ends"
NO_LOGIN_FROM_HERE: Final = "You cannot log in to {agent} from here. See agents.*.headers"
NO_LOGIN: Final = "{agent} has no login. Use its own tool, then :Acp restart"
NO_SUCH_LOGIN: Final = "{agent} has no login {login}. Logins: {logins}"
LOG_IN_TO: Final = "Log in to {agent}{more}"
LOGGING_IN: Final = "Logging in to {agent}: {login}"
LOGIN_SILENT: Final = (
    "{agent} has not answered the login for {seconds:g} s. Finish it, or :AcpCancel ends it"
)
LOGIN_FAILED: Final = "Login to {agent} failed: {reason}. :Acp login tries again"
WHY_EXIT_CODE: Final = "exit code {code}"
LOGGED_IN: Final = "Logged in to {agent}"
LOGIN_RUNS: Final = "{agent} wants to run this to log in: {command}"
OPTION_DO_NOT_RUN: Final = "Do not run it"
LOGIN_WITHOUT: Final = "{program} does not pass {names} to the login: set it there"
LOGIN_BUSY: Final = "A login to {agent} is already in progress"
NO_LOGOUT: Final = "{agent} has no logout"
LOGGED_OUT: Final = "Logged out of {agent}. :Acp login logs in again"
