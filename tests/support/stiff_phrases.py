"""Phrases that read as translated, for user texts and for the prose of the sources."""

STIFF = (
    *("goes on", "go on", "is said", "is told", "as it was", "by the way", "worked off"),
    *("that wait", "no more", "anew", "goes by itself", "waits for your word"),
)
"""Phrases to replace by plain words."""
