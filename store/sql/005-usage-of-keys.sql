-- SPDX-License-Identifier: MIT
-- Usage belongs to a key and not to its label: `key` is the hash of the key, '' for clients without one and
-- for what is counted after the key was removed.
ALTER TABLE usage RENAME TO usage_by_principal;
CREATE TABLE usage (
	principal TEXT    NOT NULL,
	key       TEXT    NOT NULL DEFAULT '',
	model     TEXT    NOT NULL,
	day       INTEGER NOT NULL,
	n_request INTEGER NOT NULL CHECK (n_request >= 0),
	n_prompt  INTEGER NOT NULL CHECK (n_prompt >= 0),
	n_cached  INTEGER NOT NULL CHECK (n_cached >= 0),
	n_out     INTEGER NOT NULL CHECK (n_out >= 0),
	queue_ns  INTEGER NOT NULL CHECK (queue_ns >= 0),
	run_ns    INTEGER NOT NULL CHECK (run_ns >= 0),
	work_ns   INTEGER NOT NULL CHECK (work_ns >= 0),
	PRIMARY KEY (day, principal, model, key)
) STRICT, WITHOUT ROWID;
INSERT INTO usage SELECT principal, coalesce((SELECT hash FROM keys WHERE 'key:' || label = principal), ''),
	model, day, n_request, n_prompt, n_cached, n_out, queue_ns, run_ns, work_ns FROM usage_by_principal;
DROP TABLE usage_by_principal;
