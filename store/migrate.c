/* SPDX-License-Identifier: MIT
 *
 * The number of the schema is stored as sqlite's user_version.  Migration files are numbered
 * without gaps and never change after a release; a test checks their digests. */
#include <stdio.h>

#include "store/db.h"

static enum lmd_status migrate_one(struct lmi_store *s, uint32_t i, struct lmd_error *err)
{
	char *why = NULL;
	int rc = sqlite3_exec(s->db, lmi_store_sql[i].text, NULL, NULL, &why);

	sqlite3_free(why);
	if (rc == SQLITE_OK)
		return LMD_OK;
	(void)lmi_store_db_fail(s, rc, err);
	lmd_error_prefix(err, lmi_store_sql[i].name);
	return err ? err->status : LMD_INTERNAL;
}

enum lmd_status lmi_store_migrate(struct lmi_store *s, uint32_t upto, struct lmd_error *err)
{
	int64_t from = 0;
	char set[64];
	bool found;
	enum lmd_status st = lmi_store_db_begin(s, err);

	if (st != LMD_OK)
		return st;
	st = lmi_store_db_number(s, err, &from, &found, "PRAGMA user_version", "");
	for (uint32_t i = (uint32_t)from; st == LMD_OK && i < upto; i++)
		st = migrate_one(s, i, err);
	if (st == LMD_OK && from < upto) {
		(void)snprintf(set, sizeof(set), "PRAGMA user_version = %u", upto);
		st = lmi_store_db_run(s, err, set, "");
	}
	if (st == LMD_OK && from == 0) {
		(void)snprintf(set, sizeof(set), "PRAGMA application_id = %d",
			       LMI_STORE_APPLICATION_ID);
		st = lmi_store_db_run(s, err, set, "");
	}
	return lmi_store_db_end(s, st, err);
}
