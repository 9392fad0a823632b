"""Agents' reads and writes of files, served from live buffers and the disk."""
