"""Prompts: sending, attachments, the queue."""
