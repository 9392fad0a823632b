"""Texts that only the feature `chat` shows. They follow the rules in `acp_nvim.wording`."""

from __future__ import annotations

from typing import Final

NOT_OPENED: Final = "Not opened (only http and https are): {address}"
NO_BASE64: Final = "The content is not base64: {reason}"
WRITTEN_TO: Final = "Written to {path}: {what}"
NOTHING_PENDING: Final = "Nothing is pending"
NOTHING_MORE: Final = "Nothing more is known about it"
NO_AGENT_YET: Final = "No agent has been started yet"
NO_TRAFFIC: Final = "{agent} has not run yet, so there is no traffic"
TRAFFIC_OFF: Final = "No traffic is kept (log.level is {level})"
TRAFFIC_SAVED: Final = "Saved {count} lines of traffic to {path}"
