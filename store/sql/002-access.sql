-- SPDX-License-Identifier: MIT
-- Who may ask, and how much was asked.
CREATE TABLE keys (
	hash       TEXT    NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
	label      TEXT    NOT NULL,
	role       INTEGER NOT NULL CHECK (role IN (0, 1)),
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
	principal TEXT    NOT NULL,
	day       INTEGER NOT NULL,
	tokens    INTEGER NOT NULL CHECK (tokens >= 0),
	PRIMARY KEY (principal, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_day ON usage (day);
