-- SPDX-License-Identifier: MIT
-- Settings of the operator, and what parts of the daemon keep.
CREATE TABLE settings (
	key   TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE kv (
	space TEXT NOT NULL,
	key   TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (space, key)
) STRICT;
