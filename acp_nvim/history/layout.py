"""Tables of the history, and the migrations between their versions.

`sessions` are chats, in the order of their start. `entries` are their entries, in the order of
`id`; `writer` and `place` identify an entry for the process that shows it. The content of a message
is `content` plus the `pieces` that were appended later.

`texts` are searchable. They are never changed: a new text gets a new row, so that outdated index
entries of a deleted row do no harm. `owners` maps texts to sessions, in a small separate table.
`unindexed` lists the texts that were added by a build of SQLite without FTS5.

`usage` is kept when its sessions are deleted. `blames` are files that agents have written, with
their lines as digests. `authors` are the prompts for which agents wrote lines.
"""

from __future__ import annotations

from typing import Final

VERSION_1: Final = """
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uid TEXT NOT NULL UNIQUE,
  parent INTEGER,
  agent TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  cwd TEXT NOT NULL,
  title TEXT NOT NULL,
  started REAL NOT NULL,
  updated REAL NOT NULL,
  stop_reason TEXT,
  prompts INTEGER NOT NULL DEFAULT 0,
  used INTEGER,
  size INTEGER,
  cost REAL,
  currency TEXT
);
CREATE INDEX sessions_by_agent_id ON sessions (agent, agent_id);
CREATE INDEX sessions_by_time ON sessions (updated);
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE TABLE entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  writer INTEGER NOT NULL,
  place INTEGER NOT NULL,
  time REAL NOT NULL,
  data BLOB NOT NULL,
  content BLOB,
  text INTEGER,
  UNIQUE (session, writer, place)
);
CREATE TABLE pieces (
  entry INTEGER NOT NULL,
  number INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (entry, number)
) WITHOUT ROWID;
CREATE TABLE texts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  directory TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE TABLE owners (id INTEGER PRIMARY KEY, session INTEGER NOT NULL);
CREATE TABLE unindexed (id INTEGER PRIMARY KEY);
CREATE TABLE prompts (
  text TEXT PRIMARY KEY,
  cwd TEXT NOT NULL,
  number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX prompts_by_number ON prompts (number);
CREATE TABLE usage (
  day TEXT NOT NULL,
  agent TEXT NOT NULL,
  currency TEXT NOT NULL,
  prompts INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL NOT NULL DEFAULT 0,
  PRIMARY KEY (day, agent, currency)
) WITHOUT ROWID;
"""

VERSION_2: Final = """
CREATE TABLE authors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  agent TEXT NOT NULL,
  sent REAL NOT NULL,
  prompt INTEGER NOT NULL,
  words TEXT NOT NULL,
  UNIQUE (session, sent)
);
CREATE TABLE blames (
  path TEXT PRIMARY KEY,
  updated REAL NOT NULL,
  lines BLOB NOT NULL,
  runs BLOB NOT NULL
);
"""

MIGRATIONS: Final = (VERSION_1, VERSION_2)
"""Scripts from version n to n + 1. The first one is for an empty file. Published scripts never
change.
"""

INDEX: Final = """
CREATE VIRTUAL TABLE words USING fts5 (
  directory, text, content='texts', content_rowid='id', tokenize='unicode61 remove_diacritics 2'
)
"""
"""Full-text index, if the build of SQLite has FTS5."""

DELETED: Final = """
INSERT INTO words (words, rowid, directory, text)
SELECT 'delete', id, directory, text FROM texts WHERE id = ?
"""
