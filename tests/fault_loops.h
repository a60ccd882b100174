/* SPDX-License-Identifier: MIT
 *
 * fault_loops.h - runs a conversion of files again and again, each time with a different call that
 * fails: a write, a read, an allocation.  A run must either end with an error that names the file,
 * or produce the same result as a run without failures.  No incomplete file may have the name of
 * the result, existing files must be kept, and all memory must be freed.  If a run keeps partial
 * results, the next run must succeed.  Link with faults.c. */
#ifndef LLAMAD_TESTS_FAULT_LOOPS_H
#define LLAMAD_TESTS_FAULT_LOOPS_H

#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "llamad/attr.h"
#include "tests/faults.h"
#include "tests/temp_dir.h"

typedef bool (*fault_progress_fn)(void *arg, uint64_t done, uint64_t total);

struct fault_job {
	const char *name;
	/* Makes the result; the sources are all that the folder holds.  progress: as that of the
	 * thing, or NULL. */
	enum lmd_status (*run)(fault_progress_fn progress, struct lmd_error *e);
	const char *source;    /* expected in the error message of a failed read */
	const char *result[2]; /* names of the files; one, or a set */
	const char *stem;      /* the prefix of these names */
	bool keep;	       /* a failed run leaves partial results for the next */
};

#define FAULT_OLD "what was there before"

static const struct fault_job *job;
static unsigned n_source;
static char *want[2]; /* the result of a run without failures */
static size_t n_want[2];
static bool hit; /* something failed in the last run */

/* Removes the files of the result, which must be the expected ones. */
static inline void fault_check_result(void)
{
	struct lmd_error e = {0};

	for (int i = 0; i < 2 && job->result[i]; i++) {
		const char *path = temp_path(job->result[i]);
		size_t n;
		char *p;

		ck_assert_msg(lmi_file_read_all(path, 1 << 24, &p, &n, &e) == LMD_OK, "%s", e.text);
		if (!want[i]) {
			want[i] = p;
			n_want[i] = n;
		} else {
			ck_assert(n == n_want[i] && !memcmp(p, want[i], n));
			lmi_free(p);
		}
		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_uint_eq(temp_n_files(), n_source);
}

/* Checks that a single file is unchanged, a file of a set does not exist, and that there are at
 * most partial results for a later run. */
static inline void fault_check_no_result(void)
{
	unsigned n = n_source, n_result = job->result[1] ? 2 : 1;

	for (unsigned i = 0; n_result == 2 && i < 2; i++)
		ck_assert_int_ne(access(temp_path(job->result[i]), F_OK), 0);
	if (n_result == 1) {
		char text[64] = "";
		FILE *f = fopen(temp_path(job->result[0]), "rb");

		ck_assert_ptr_nonnull(f);
		ck_assert_uint_eq(fread(text, 1, sizeof(text), f), strlen(FAULT_OLD));
		fclose(f);
		ck_assert_str_eq(text, FAULT_OLD);
		n++;
	}
	if (job->keep)
		ck_assert_uint_le(temp_n_files(), n + 2 * n_result);
	else
		ck_assert_uint_eq(temp_n_files(), n);
}

/* Runs once; a failure may be armed. */
static inline enum lmd_status fault_run(struct lmd_error *e)
{
	struct lmi_alloc_stats before, after;
	enum lmd_status st;

	if (!job->result[1])
		temp_write(job->result[0], FAULT_OLD, strlen(FAULT_OLD));
	memset(e, 0, sizeof(*e));
	lmi_alloc_stats(&before);
	st = job->run(NULL, e);
	hit = fault_disarm() || lmi_file_did_fail() || lmi_alloc_did_fail();
	lmi_file_fail_nth(0, LMI_FAULT_EIO);
	lmi_alloc_fail_nth(0, false);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(after.n_live, before.n_live);
	if (st == LMD_OK) {
		fault_check_result();
	} else {
		ck_assert_int_eq(e->status, st);
		fault_check_no_result();
	}
	return st;
}

/* Runs again after a failure, with the partial results. */
static inline void fault_go_on(void)
{
	struct lmd_error e;

	if (job->keep)
		ck_assert_msg(fault_run(&e) == LMD_OK, "%s", e.text);
}

/* Runs for the first time, without failures. */
static inline void fault_begin(const struct fault_job *j)
{
	struct lmd_error e;

	job = j;
	n_source = temp_n_files();
	ck_assert_msg(fault_run(&e) == LMD_OK, "%s", e.text);
}

static inline void fault_end(void)
{
	for (int i = 0; i < 2; i++) {
		lmi_free(want[i]);
		want[i] = NULL;
	}
}

/* Lets each write fail, and related calls. */
static inline void fault_writes(const struct fault_job *j)
{
	static const struct {
		enum fault kind;
		const char *text; /* NULL: it has no effect */
	} kinds[] = {
		{FAULT_CREATE, "cannot create"},      {FAULT_WRITE_EIO, "Input/output error"},
		{FAULT_WRITE_NOSPC, "No space left"}, {FAULT_WRITE_SHORT, NULL},
		{FAULT_WRITE_EINTR, NULL},	      {FAULT_WRITE_ZERO, "wrote 0 of"},
		{FAULT_SYNC, "fsync"},		      {FAULT_NAME, "rename"},
		{FAULT_CUT, "truncate"},
	};
	unsigned n_failed = 0, n_ok = 0;
	struct lmd_error e;

	fault_begin(j);
	for (size_t k = 0; k < LMD_LEN(kinds); k++) {
		for (unsigned after = 0;; after += 1 + after / 6) {
			enum lmd_status st;

			fault_arm(kinds[k].kind, after);
			st = fault_run(&e);
			/* every second fsync is for the folder, after the rename */
			if (!hit || !kinds[k].text || (kinds[k].kind == FAULT_SYNC && after % 2))
				ck_assert_msg(st == LMD_OK, "call %u: %s", after, e.text);
			else
				ck_assert_msg(st == LMD_IO && strstr(e.text, kinds[k].text) &&
						      strstr(e.text, job->stem),
					      "call %u: %s: %s", after, lmd_status_text((int)st),
					      e.text);
			if (st != LMD_OK && job->keep && kinds[k].kind >= FAULT_SYNC &&
			    kinds[k].kind <= FAULT_NAME) /* everything is written except the final name */
				ck_assert_msg(strstr(e.text, "the same command resumes"), "%s",
					      e.text);
			if (!hit) {
				ck_assert(after > 0 || (kinds[k].kind == FAULT_CUT && !job->keep));
				break;
			}
			n_failed += st != LMD_OK;
			n_ok += st == LMD_OK;
			if (st != LMD_OK)
				fault_go_on();
		}
	}
	ck_assert_uint_gt(n_failed, 20);
	printf("%s: writes: %u failed, %u did no harm\n", job->name, n_failed, n_ok);
	fault_end();
}

/* Lets each read fail.  give_up: NULL, or a failure that interrupts a run before each run: its
 * partial results are then read as well, and made again if they cannot be read. */
static inline void fault_reads(const struct fault_job *j, fault_progress_fn give_up)
{
	static const struct {
		enum lmi_file_fault how;
		bool harms;
	} kinds[] = {
		{LMI_FAULT_EIO, true},
		{LMI_FAULT_END, true},
		{LMI_FAULT_SHORT, false},
		{LMI_FAULT_EINTR, false},
	};
	unsigned n_failed = 0, n_ok = 0;
	struct lmd_error e;

	fault_begin(j);
	for (size_t k = 0; k < LMD_LEN(kinds); k++) {
		for (uint64_t nth = 1;; nth += 1 + nth / (give_up ? 4 : 6)) {
			enum lmd_status st;

			if (give_up)
				ck_assert_int_eq(job->run(give_up, &e), LMD_CANCELLED);
			lmi_file_fail_nth(nth, kinds[k].how);
			st = fault_run(&e);
			if (st == LMD_OK) /* checking for a journal is also a read */
				ck_assert(!hit || !kinds[k].harms || job->keep);
			else
				ck_assert_msg(hit && kinds[k].harms && st == LMD_IO &&
						      strstr(e.text, job->source),
					      "read %u: %s: %s", (unsigned)nth,
					      lmd_status_text((int)st), e.text);
			if (!hit)
				break;
			n_failed += st != LMD_OK;
			n_ok += st == LMD_OK;
			if (st != LMD_OK)
				fault_go_on();
		}
	}
	ck_assert_uint_gt(n_failed, 4);
	ck_assert_uint_gt(n_ok, 4);
	printf("%s: %s: %u failed, %u did no harm\n", job->name,
	       give_up ? "reads, going on" : "reads", n_failed, n_ok);
	fault_end();
}

/* Lets each allocation fail, alone or with all later ones.  n_spared of them may fail without an
 * effect. */
static inline void fault_allocations(const struct fault_job *j, unsigned n_spared)
{
	struct lmd_error e;
	unsigned n_ok = 0;
	uint64_t n;

	fault_begin(j);
	for (n = 1;; n++) {
		enum lmd_status st;

		lmi_alloc_fail_nth(n, n % 2);
		st = fault_run(&e);
		if (!hit)
			break;
		n_ok += st == LMD_OK;
		ck_assert_msg(st == LMD_NOMEM || (st == LMD_OK && n_ok <= n_spared),
			      "allocation %u: %s: %s", (unsigned)n, lmd_status_text((int)st),
			      e.text);
		if (st != LMD_OK && n % 8 == 0)
			fault_go_on();
	}
	ck_assert_uint_gt(n, 40);
	printf("%s: %u allocations failed in turn\n", job->name, (unsigned)n - 1);
	fault_end();
}

#endif /* LLAMAD_TESTS_FAULT_LOOPS_H */
