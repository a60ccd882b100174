/* SPDX-License-Identifier: MIT
 *
 * Usage per principal, key, model and day.  Sums saturate at 2^63 - 1. */
#include <string.h>

#include "core/base/arena.h"
#include "store/db.h"

#define ADD(column) #column " = " #column " + min(excluded." #column ", 9223372036854775807 - " #column ")"

static int64_t number(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static enum lmd_status add(struct lmi_store *s, const struct lmi_store_usage *u,
			   struct lmd_error *err)
{
	enum lmd_status st =
		lmi_store_text_check("principal", u->principal, 1, LMI_STORE_TEXT_MAX, err);

	if (st == LMD_OK)
		st = lmi_store_text_check("model", u->model, 0, LMI_STORE_NAME_MAX, err);
	if (st != LMD_OK)
		return st;
	return lmi_store_db_run(
		s, err,
		"INSERT INTO usage (principal, model, day, n_request, n_prompt, n_cached, n_out, "
		"queue_ns, run_ns, work_ns, key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) "
		"ON CONFLICT (day, principal, model, key) DO UPDATE SET " ADD(n_request) ", "
		ADD(n_prompt) ", " ADD(n_cached) ", " ADD(n_out) ", " ADD(queue_ns) ", "
		ADD(run_ns) ", " ADD(work_ns),
		"ttiiiiiiiit", u->principal, u->model, (int64_t)u->day, number(u->n_request),
		number(u->n_prompt), number(u->n_cached), number(u->n_out), number(u->queue_ns),
		number(u->run_ns), number(u->work_ns), u->key ? u->key : "");
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

/* ---- reading ---- */

void lmi_store_usages_fini(struct lmi_store_usages *u)
{
	lmi_arena_destroy(u->arena);
	*u = (struct lmi_store_usages){0};
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return b > (uint64_t)INT64_MAX - a ? (uint64_t)INT64_MAX : a + b;
}

/* Returns whether the row is about the principal, model and day of *u, with another key. */
static bool continues(const struct lmi_store_usage *u, sqlite3_stmt *q)
{
	const char *principal = (const char *)sqlite3_column_text(q, 0);
	const char *model = (const char *)sqlite3_column_text(q, 1);

	return principal && model && !strcmp(u->principal, principal) && !strcmp(u->model, model) &&
	       u->day == sqlite3_column_int(q, 2);
}

static void add_counts(struct lmi_store_usage *u, sqlite3_stmt *q)
{
	uint64_t *const counts[] = {&u->n_request, &u->n_prompt, &u->n_cached, &u->n_out,
				    &u->queue_ns,  &u->run_ns,	 &u->work_ns};

	for (int i = 0; i < (int)LMD_LEN(counts); i++)
		*counts[i] = add_up(*counts[i], (uint64_t)sqlite3_column_int64(q, 3 + i));
}

static enum lmd_status get(struct lmd_arena *a, sqlite3_stmt *q, struct lmi_store_usage *u,
			   struct lmd_error *err)
{
	u->principal = lmi_store_db_text(a, q, 0);
	u->model = lmi_store_db_text(a, q, 1);
	if (!u->principal || !u->model)
		return lmi_store_rows_nomem(err);
	u->day = sqlite3_column_int(q, 2);
	add_counts(u, q);
	return LMD_OK;
}

static enum lmd_status read_rows(struct lmi_store *s, sqlite3_stmt *q, uint32_t max,
				 struct lmi_store_usages *u, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	bool row;

	while (st == LMD_OK) {
		st = lmi_store_db_step(s, q, &row, err);
		if (st != LMD_OK || !row)
			break;
		if (u->n && continues(&u->v[u->n - 1], q)) {
			add_counts(&u->v[u->n - 1], q);
			continue;
		}
		if (u->n == max) {
			u->more = true;
			break;
		}
		st = get(u->arena, q, &u->v[u->n++], err);
	}
	return st;
}

enum lmd_status lmi_store_usage_list(struct lmi_store *s, const struct lmi_store_usage_filter *f,
				     struct lmi_store_usages *out, struct lmd_error *err)
{
	struct lmi_store_usages u = {.arena = lmi_arena_create(0)};
	sqlite3_stmt *q = NULL;
	enum lmd_status st;

	if (u.arena)
		u.v = lmi_arena_array(u.arena, f->max + 1u, sizeof(*u.v));
	if (!u.v) {
		lmi_arena_destroy(u.arena);
		return lmi_store_rows_nomem(err);
	}
	st = lmi_store_db_query(s, &q, err,
				"SELECT principal, model, day, n_request, n_prompt, n_cached, n_out, "
				"queue_ns, run_ns, work_ns FROM usage WHERE day >= ?1 "
				"AND (?2 = 0 OR principal = ?3) AND (?4 = 0 OR model = ?5) "
				"AND (?6 = 0 OR key = ?7) ORDER BY day DESC, principal, model",
				"iititit", (int64_t)f->first, (int64_t)(f->principal != NULL),
				f->principal ? f->principal : "", (int64_t)(f->model != NULL),
				f->model ? f->model : "", (int64_t)(f->key != NULL),
				f->key ? f->key : "");
	if (st == LMD_OK)
		st = read_rows(s, q, f->max, &u, err);
	sqlite3_finalize(q);
	if (st == LMD_OK)
		*out = u;
	else
		lmi_store_usages_fini(&u);
	return st;
}

enum lmd_status lmi_store_usage_sum(struct lmi_store *s, const char *principal, const char *key,
				    int32_t first, int32_t last, uint64_t *tokens,
				    struct lmd_error *err)
{
	enum lmd_status st =
		lmi_store_text_check("principal", principal, 1, LMI_STORE_TEXT_MAX, err);
	uint64_t sum = 0;
	sqlite3_stmt *q;
	bool row;

	if (st == LMD_OK)
		st = lmi_store_db_query(s, &q, err,
					"SELECT n_prompt, n_out FROM usage WHERE principal = ?1 "
					"AND day BETWEEN ?2 AND ?3 AND (?4 = 0 OR key = ?5)",
					"tiiit", principal, (int64_t)first, (int64_t)last,
					(int64_t)(key != NULL), key ? key : "");
	if (st != LMD_OK)
		return st;
	while (st == LMD_OK) {
		st = lmi_store_db_step(s, q, &row, err);
		if (st != LMD_OK || !row)
			break;
		sum = add_up(sum, (uint64_t)sqlite3_column_int64(q, 0));
		sum = add_up(sum, (uint64_t)sqlite3_column_int64(q, 1));
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
