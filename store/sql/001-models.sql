-- SPDX-License-Identifier: MIT
-- Models, their files and second names.
CREATE TABLE models (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	name        TEXT    NOT NULL UNIQUE CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 128),
	digest      TEXT    NOT NULL CHECK (length(digest) = 64),
	size        INTEGER NOT NULL CHECK (size >= 0),
	format      TEXT    NOT NULL,
	arch        TEXT    NOT NULL,
	facts       TEXT    NOT NULL,
	state       INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
	added_at    INTEGER NOT NULL,
	used_at     INTEGER NOT NULL DEFAULT 0,
	imported    INTEGER NOT NULL CHECK (imported IN (0, 1)),
	memory_bytes INTEGER NOT NULL DEFAULT 0,
	load_ns     INTEGER NOT NULL DEFAULT 0,
	prefill_tps REAL    NOT NULL DEFAULT 0,
	decode_tps  REAL    NOT NULL DEFAULT 0,
	measured_at INTEGER NOT NULL DEFAULT 0
) STRICT;

-- dev and ino are unsigned 64-bit numbers, kept as the signed ones of the same bits.
-- path is empty for an imported file: its digest says where it is.
CREATE TABLE model_files (
	model_id INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
	part     INTEGER NOT NULL CHECK (part >= 0),
	path     TEXT    NOT NULL,
	digest   TEXT    NOT NULL CHECK (length(digest) = 64),
	size     INTEGER NOT NULL CHECK (size >= 0),
	dev      INTEGER NOT NULL,
	ino      INTEGER NOT NULL,
	mtime_ns INTEGER NOT NULL,
	ctime_ns INTEGER NOT NULL,
	PRIMARY KEY (model_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX model_files_digest ON model_files (digest);

CREATE TABLE aliases (
	alias    TEXT    NOT NULL PRIMARY KEY
	                 CHECK (length(CAST(alias AS BLOB)) BETWEEN 1 AND 128),
	model_id INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_model ON aliases (model_id);

-- A name is a model's or an alias, not both.
CREATE TRIGGER alias_free BEFORE INSERT ON aliases
WHEN EXISTS (SELECT 1 FROM models WHERE name = NEW.alias)
BEGIN SELECT RAISE (ABORT, 'name taken'); END;
CREATE TRIGGER name_free BEFORE INSERT ON models
WHEN EXISTS (SELECT 1 FROM aliases WHERE alias = NEW.name)
BEGIN SELECT RAISE (ABORT, 'name taken'); END;
CREATE TRIGGER name_free_update BEFORE UPDATE OF name ON models
WHEN EXISTS (SELECT 1 FROM aliases WHERE alias = NEW.name)
BEGIN SELECT RAISE (ABORT, 'name taken'); END;
