/* SPDX-License-Identifier: MIT
 *
 * Calls every member of struct lmd_host through the table, as a plugin does. */
#include "core/plugin/host_services.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/team.h"
#include "tests/lmd_check.h"

static struct lmd_host *h;

static void setup(void)
{
	ck_assert_int_eq(lmi_host_create(&h, UINT64_MAX), LMD_OK);
}

static void teardown(void)
{
	lmi_host_destroy(h);
}

START_TEST(every_member_is_set)
{
	const char *table = (const char *)h;

	ck_assert_uint_eq(h->struct_size, sizeof(struct lmd_host));
	for (size_t at = offsetof(struct lmd_host, ctx); at < sizeof(*h); at += sizeof(void *)) {
		void *p;

		memcpy(&p, table + at, sizeof(p));
		ck_assert_msg(p != NULL, "member at %zu", at);
	}
	/* what a plugin with newer headers finds where this host has no member */
	for (size_t at = sizeof(*h); at < LMD_HOST_TABLE_BYTES; at++)
		ck_assert_int_eq(table[at], 0);
}
END_TEST

START_TEST(memory)
{
	struct lmd_arena *arena = lmi_arena_create(4096);
	struct lmi_alloc_stats before, after;
	unsigned char *p;

	lmi_alloc_stats(&before);
	p = h->alloc(h->ctx, 100);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq((uintptr_t)p % 64, 0);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(p[i], 0);
	h->free(h->ctx, p);
	h->free(h->ctx, NULL);
	ck_assert_ptr_null(h->alloc(h->ctx, 0));
	lmi_alloc_fail_nth(1, false);
	ck_assert_ptr_null(h->alloc(h->ctx, 1));
	lmi_alloc_fail_nth(0, false);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
	ck_assert_ptr_nonnull(h->arena_alloc(h->ctx, arena, 4000, 64));
	ck_assert_ptr_null(h->arena_alloc(h->ctx, arena, 4000, 64)); /* exceeds its limit */
	lmi_arena_destroy(arena);
}
END_TEST

START_TEST(machine)
{
	const struct lmd_cpu *cpu = h->cpu(h->ctx);
	struct lmd_host *bare = NULL;
	uint64_t t = h->now_ns(h->ctx);

	ck_assert_uint_ge(cpu->n_core, 1);
	ck_assert_uint_ge(h->now_ns(h->ctx), t);
	ck_assert_int_eq(lmi_host_create(&bare, LMD_CPU_AVX2), LMD_OK);
	ck_assert_uint_eq(bare->cpu(bare->ctx)->flags, cpu->flags & LMD_CPU_AVX2);
	lmi_host_destroy(bare);
}
END_TEST

START_TEST(tensor_types)
{
	uint32_t elems = 0, bytes = 0;
	float in[64], out[64];
	char block[256];

	for (int i = 0; i < 64; i++)
		in[i] = (float)(i - 32);
	ck_assert(h->dtype_info(h->ctx, LMD_DTYPE_Q8_0, &elems, &bytes));
	ck_assert(elems == 32 && bytes == 34);
	ck_assert(!h->dtype_info(h->ctx, (enum lmd_dtype)4, &elems, &bytes));
	ck_assert_int_eq(h->quant_rows(h->ctx, LMD_DTYPE_Q8_0, in, block, 64), LMD_OK);
	ck_assert_int_eq(h->dequant_rows(h->ctx, LMD_DTYPE_Q8_0, block, out, 64), LMD_OK);
	for (int i = 0; i < 64; i++)
		ck_assert_float_eq_tol(in[i], out[i], 0.2f);
	/* not a whole number of blocks; unknown type */
	ck_assert_int_eq(h->quant_rows(h->ctx, LMD_DTYPE_Q8_0, in, block, 33), LMD_INVALID);
	ck_assert_int_eq(h->dequant_rows(h->ctx, LMD_DTYPE_Q8_0, block, out, 1), LMD_INVALID);
	ck_assert_int_eq(h->dequant_rows(h->ctx, (enum lmd_dtype)4, block, out, 32),
			 LMD_UNSUPPORTED);
	ck_assert_int_eq(h->quant_rows(h->ctx, (enum lmd_dtype)63, in, block, 32), LMD_UNSUPPORTED);
}
END_TEST

static void count_parts(void *arg, uint32_t part, uint32_t n_part)
{
	_Atomic uint32_t *sum = arg;

	atomic_fetch_add(sum, part + 100 * (part + 1 == n_part));
}

START_TEST(team)
{
	struct lmi_team_opts o = {.n = 3};
	_Atomic uint32_t sum = 0;
	struct lmd_team *t = NULL;

	ck_assert_int_eq(lmi_team_create(&t, &o, NULL), LMD_OK);
	ck_assert_uint_eq(h->team_size(h->ctx, t), 3);
	h->team_run(h->ctx, t, count_parts, &sum);
	ck_assert_uint_eq(atomic_load(&sum), 103);
	h->team_run(h->ctx, NULL, count_parts, &sum);
	ck_assert_uint_eq(atomic_load(&sum), 203);
	ck_assert_uint_eq(h->team_size(h->ctx, NULL), 1);
	lmi_team_destroy(t);
}
END_TEST

START_TEST(log_level)
{
	FILE *f = tmpfile();
	char line[256];
	int fd;

	ck_assert_ptr_nonnull(f);
	fd = dup(STDERR_FILENO);
	ck_assert(fd >= 0 && dup2(fileno(f), STDERR_FILENO) >= 0);
	h->log(h->ctx, "t", LMD_LOG_INFO, "not by default");
	lmi_host_set_log_level(h, LMD_LOG_INFO);
	h->log(h->ctx, "t", LMD_LOG_INFO, "now n=%d", 1);
	lmi_host_set_log_journal(h, true, "/nonexistent/journal"); /* lines are written instead */
	h->log(h->ctx, "t", LMD_LOG_WARN, "for the journal");
	ck_assert(dup2(fd, STDERR_FILENO) >= 0 && !close(fd));
	rewind(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	ck_assert_str_eq(line, "llamad: info: t: now n=1\n");
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	ck_assert_str_eq(line, "<4>t: for the journal\n");
	ck_assert_ptr_null(fgets(line, sizeof(line), f));
	fclose(f);
}
END_TEST

/* The text of the next entry, with a newline before it, so that "\nNAME=VALUE\n" finds a field. */
static const char *next_entry(int fd)
{
	static char text[4096];
	ssize_t n = recv(fd, text + 1, sizeof(text) - 2, 0);

	ck_assert_int_gt(n, 0);
	text[0] = '\n';
	text[n + 1] = 0;
	return text;
}

static unsigned n_fields(const char *entry)
{
	unsigned n = 0;

	for (const char *p = entry; (p = strchr(p, '\n')); p++)
		n++;
	return n - 1;
}

START_TEST(journal_entries)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/host_test.XXXXXX", text[2000];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	const char *e;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(to.sun_path, sizeof(to.sun_path), "%s/journal", dir);
	ck_assert(fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	lmi_host_set_log_journal(h, true, to.sun_path);

	h->log(h->ctx, "service", LMD_LOG_WARN, "model ready; model=%s engine=%llu n_ms=%.1f: %s", "qwen", 7ULL, 1.5,
	       "as; known=x");
	e = next_entry(fd);
	ck_assert_ptr_nonnull(
		strstr(e, "\nMESSAGE=service: model ready; model=qwen engine=7 n_ms=1.5: as; known=x\n"));
	ck_assert_ptr_nonnull(strstr(e, "\nPRIORITY=4\n"));
	ck_assert_ptr_nonnull(strstr(e, "\nSYSLOG_IDENTIFIER=llamad\n"));
	ck_assert_ptr_nonnull(strstr(e, "\nLLAMAD_TOPIC=service\n"));
	ck_assert_ptr_nonnull(strstr(e, "\nLLAMAD_MODEL=qwen\n"));
	ck_assert_ptr_nonnull(strstr(e, "\nLLAMAD_ENGINE=7\n"));
	ck_assert_ptr_nonnull(strstr(e, "\nLLAMAD_N_MS=1.5\n"));
	ck_assert_uint_eq(n_fields(e), 7);

	/* texts of clients make no fields and no lines */
	h->log(h->ctx, "http", LMD_LOG_ERROR, "GET %s; status=%d model=%s end=%s", "/x; status=200 principal=root",
	       404, "a\nPRIORITY=7 end=b", "done");
	e = next_entry(fd);
	ck_assert_ptr_nonnull(strstr(e, "\nLLAMAD_STATUS=404\n"));
	ck_assert_ptr_nonnull(strstr(e, "\nLLAMAD_MODEL=a PRIORITY=7 end=b\n"));
	ck_assert_ptr_nonnull(strstr(e, "\nLLAMAD_END=done\n"));
	ck_assert_ptr_nonnull(strstr(e, "\nPRIORITY=3\n"));
	ck_assert_uint_eq(n_fields(e), 7);

	/* a message that is cut off has no fields from behind the cut; an empty value is left out */
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	h->log(h->ctx, "t", LMD_LOG_ERROR, "%s; model=%s", text, "m");
	e = next_entry(fd);
	ck_assert_uint_eq(n_fields(e), 4);
	h->log(h->ctx, "t", LMD_LOG_ERROR, "x; model=%s n=%u", "", 5u);
	ck_assert_uint_eq(n_fields(next_entry(fd)), 5);
	h->log(h->ctx, "t", LMD_LOG_ERROR, "no; fields here");
	ck_assert_uint_eq(n_fields(next_entry(fd)), 4);

	ck_assert(!close(fd) && !unlink(to.sun_path) && !rmdir(dir));
}
END_TEST

/* A journal that does not read stops nobody: what does not fit into its queue is written as a line. */
START_TEST(full_journal)
{
	enum { N = 3000 };
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/host_test.XXXXXX", line[256];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), saved = dup(STDERR_FILENO);
	unsigned n_line = 0, n_entry = 0;
	FILE *f = tmpfile();

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(to.sun_path, sizeof(to.sun_path), "%s/journal", dir);
	ck_assert(f && fd >= 0 && saved >= 0 && bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	ck_assert(dup2(fileno(f), STDERR_FILENO) >= 0);
	lmi_host_set_log_journal(h, true, to.sun_path);
	for (int i = 0; i < N; i++)
		h->log(h->ctx, "t", LMD_LOG_WARN, "event; n=%d", i);
	ck_assert(dup2(saved, STDERR_FILENO) >= 0 && !close(saved));
	rewind(f);
	while (fgets(line, sizeof(line), f))
		n_line += !strncmp(line, "<4>t: event; n=", 15);
	while (recv(fd, line, sizeof(line), MSG_DONTWAIT) > 0)
		n_entry++;
	ck_assert_uint_gt(n_entry, 0);
	ck_assert_uint_gt(n_line, 0);
	ck_assert_uint_eq(n_line + n_entry, N);
	fclose(f);
	ck_assert(!close(fd) && !unlink(to.sun_path) && !rmdir(dir));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("host");
	TCase *t = tcase_create("host");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, every_member_is_set);
	tcase_add_test(t, memory);
	tcase_add_test(t, machine);
	tcase_add_test(t, tensor_types);
	tcase_add_test(t, team);
	tcase_add_test(t, log_level);
	tcase_add_test(t, journal_entries);
	tcase_add_test(t, full_journal);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
