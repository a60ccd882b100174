-- SPDX-License-Identifier: MIT
-- Quotas of keys, and usage by model.  0 and '' are no limit.
ALTER TABLE keys ADD COLUMN rpm INTEGER NOT NULL DEFAULT 0 CHECK (rpm >= 0);
ALTER TABLE keys ADD COLUMN tpm INTEGER NOT NULL DEFAULT 0 CHECK (tpm >= 0);
ALTER TABLE keys ADD COLUMN tpd INTEGER NOT NULL DEFAULT 0 CHECK (tpd >= 0);
ALTER TABLE keys ADD COLUMN models TEXT NOT NULL DEFAULT '';

ALTER TABLE usage RENAME TO usage_by_day;
DROP INDEX usage_day;
CREATE TABLE usage (
	principal TEXT    NOT NULL,
	model     TEXT    NOT NULL,
	day       INTEGER NOT NULL,
	n_request INTEGER NOT NULL CHECK (n_request >= 0),
	n_prompt  INTEGER NOT NULL CHECK (n_prompt >= 0),
	n_cached  INTEGER NOT NULL CHECK (n_cached >= 0),
	n_out     INTEGER NOT NULL CHECK (n_out >= 0),
	queue_ns  INTEGER NOT NULL CHECK (queue_ns >= 0),
	run_ns    INTEGER NOT NULL CHECK (run_ns >= 0),
	work_ns   INTEGER NOT NULL CHECK (work_ns >= 0),
	PRIMARY KEY (day, principal, model)
) STRICT, WITHOUT ROWID;
INSERT INTO usage SELECT principal, '', day, 0, 0, 0, tokens, 0, 0, 0 FROM usage_by_day;
DROP TABLE usage_by_day;
