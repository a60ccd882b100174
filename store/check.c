/* SPDX-License-Identifier: MIT
 *
 * Checks the structure of a database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "store/db.h"

#define SHOW 128

/* Interprets one line of the check.  A page that could not be read is also reported as a line, with
 * sqlite's error code at its end, or for a free page without; that is no sign of corruption. */
static enum lmd_status check_line(const char *text, struct lmd_error *err)
{
	static const char before_code[] = "error code=";
	const char *at = text ? strstr(text, before_code) : NULL;
	unsigned long code = at ? strtoul(at + sizeof(before_code) - 1, NULL, 10) : 0;
	char show[SHOW];

	if (!text || (code & 0xff) == SQLITE_NOMEM)
		return lmd_fail(err, LMD_NOMEM, "registry: no memory for its check");
	if (code && (code & 0xff) != SQLITE_CORRUPT && (code & 0xff) != SQLITE_NOTADB)
		return lmd_fail(err, LMD_IO, "registry: error during its check: %s (%lu)",
				sqlite3_errstr((int)code), code);
	if (strstr(text, "freelist: failed to get page"))
		return lmd_fail(err, LMD_IO, "registry: a free page could not be read");
	if (strcmp(text, "ok") == 0)
		return LMD_OK;
	return lmd_fail(err, LMD_CORRUPT, "registry: %s",
			lmi_printable(show, sizeof(show), text, strlen(text)));
}

enum lmd_status lmi_store_check(struct lmi_store *s, const char *schema, struct lmd_error *err)
{
	enum lmd_status st, found = LMD_OK;
	struct lmd_error why = {0};
	sqlite3_stmt *q;
	char sql[64];
	bool row = true;

	(void)snprintf(sql, sizeof(sql), "PRAGMA %s.quick_check(100)", schema);
	st = lmi_store_db_query(s, &q, err, sql, "");
	if (st != LMD_OK)
		return st;
	while (st == LMD_OK && row) {
		st = lmi_store_db_step(s, q, &row, err);
		if (st != LMD_OK || !row)
			break;
		st = check_line((const char *)sqlite3_column_text(q, 0), &why);
		if (st == LMD_CORRUPT) { /* a later line may still report a read error */
			found = st;
			st = LMD_OK;
		} else if (st != LMD_OK && err) {
			*err = why;
		}
	}
	sqlite3_finalize(q);
	if (st == LMD_OK && found != LMD_OK) {
		st = found;
		if (err)
			*err = why;
	}
	return st;
}
