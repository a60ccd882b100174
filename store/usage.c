/* SPDX-License-Identifier: MIT
 *
 * Tokens per principal and day.  Sums saturate at 2^63 - 1. */
#include "store/db.h"

static enum lmd_status add(struct lmi_store *s, const struct lmi_store_usage *u,
			   struct lmd_error *err)
{
	enum lmd_status st =
		lmi_store_text_check("principal", u->principal, 1, LMI_STORE_TEXT_MAX, err);
	int64_t sum = 0, tokens;
	bool found;

	if (st == LMD_OK)
		st = lmi_store_db_number(
			s, err, &sum, &found,
			"SELECT tokens FROM usage WHERE principal = ?1 AND day = ?2", "ti",
			u->principal, (int64_t)u->day);
	if (st != LMD_OK)
		return st;
	tokens = u->tokens > (uint64_t)(INT64_MAX - sum) ? INT64_MAX : sum + (int64_t)u->tokens;
	return lmi_store_db_run(s, err,
				"INSERT INTO usage (principal, day, tokens) VALUES (?1, ?2, ?3) "
				"ON CONFLICT (principal, day) DO UPDATE SET tokens = ?3",
				"tii", u->principal, (int64_t)u->day, tokens);
}

enum lmd_status lmi_store_usage_add(struct lmi_store *s, const struct lmi_store_usage *u,
				    uint32_t n, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_db_begin(s, err);

	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; st == LMD_OK && i < n; i++)
		st = add(s, &u[i], err);
	return lmi_store_db_end(s, st, err);
}

enum lmd_status lmi_store_usage_sum(struct lmi_store *s, const char *principal, int32_t first,
				    int32_t last, uint64_t *tokens, struct lmd_error *err)
{
	enum lmd_status st =
		lmi_store_text_check("principal", principal, 1, LMI_STORE_TEXT_MAX, err);
	uint64_t sum = 0;
	sqlite3_stmt *q;
	bool row;

	if (st == LMD_OK)
		st = lmi_store_db_query(
			s, &q, err,
			"SELECT tokens FROM usage WHERE principal = ?1 AND day BETWEEN ?2 "
			"AND ?3",
			"tii", principal, (int64_t)first, (int64_t)last);
	if (st != LMD_OK)
		return st;
	while (st == LMD_OK) {
		uint64_t day;

		st = lmi_store_db_step(s, q, &row, err);
		if (st != LMD_OK || !row)
			break;
		day = (uint64_t)sqlite3_column_int64(q, 0);
		sum = day > (uint64_t)INT64_MAX - sum ? (uint64_t)INT64_MAX : sum + day;
	}
	sqlite3_finalize(q);
	if (st == LMD_OK)
		*tokens = sum;
	return st;
}

enum lmd_status lmi_store_usage_forget(struct lmi_store *s, int32_t day, struct lmd_error *err)
{
	enum lmd_status st = lmi_store_db_begin(s, err);

	if (st != LMD_OK)
		return st;
	st = lmi_store_db_run(s, err, "DELETE FROM usage WHERE day < ?1", "i", (int64_t)day);
	return lmi_store_db_end(s, st, err);
}
