/* SPDX-License-Identifier: MIT
 *
 * Quantising with failing system calls: to one file and to a set, with and without keeping
 * completed tensors. */
#include "core/quantize/test_source.h"
#include "tests/fault_loops.h"

static char from[160];
static bool keep, set;
static uint32_t n_thread;

static enum lmd_status run(fault_progress_fn progress, struct lmd_error *e)
{
	const struct lmi_quantize_rule rule = {"attn", LMD_DTYPE_Q4_0};
	struct lmi_quantize_opts o = options("Q8_0");
	enum lmd_status st;

	o.rules = &rule;
	o.n_rules = 1;
	o.n_thread = n_thread;
	o.prune = (const uint32_t[]){2};
	o.n_prune = 1;
	o.keep_split = set;
	o.resume.keep = keep ? LMI_GGUF_KEEP : LMI_GGUF_KEEP_NONE;
	o.progress = progress;
	st = convert_from(from, &o);
	*e = err;
	return st;
}

#define FILE_JOB .run = run, .source = "src.gguf", .result = {"dst.gguf"}, .stem = "dst."
#define SET_JOB                                                                                    \
	.run = run, .source = "set-0000",                                                          \
	.result = {"dst-00001-of-00002.gguf", "dst-00002-of-00002.gguf"}, .stem = "dst-0000"

static const struct fault_job jobs[] = {
	{.name = "file", FILE_JOB},
	{.name = "file, resumed", FILE_JOB, .keep = true},
	{.name = "set", SET_JOB},
	{.name = "set, resumed", SET_JOB, .keep = true},
};

static const struct fault_job *prepare(int i, uint32_t threads)
{
	keep = jobs[i].keep;
	set = jobs[i].result[1] != NULL;
	n_thread = threads;
	snprintf(from, sizeof(from), "%s", src);
	if (set) {
		write_set(from);
		ck_assert_int_eq(unlink(src), 0);
	}
	return &jobs[i];
}

START_TEST(every_write)
{
	fault_writes(prepare(_i, 1));
}
END_TEST

START_TEST(every_read)
{
	fault_reads(prepare(_i, 1), NULL);
}
END_TEST

static bool cancel(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	return done < total / 2;
}

START_TEST(every_read_resuming)
{
	fault_reads(prepare(_i, 1), cancel);
}
END_TEST

START_TEST(every_allocation)
{
	fault_allocations(prepare(_i, 2), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("quantize, faults");
	TCase *tc = tcase_create("files");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, every_write, 0, LMD_LEN(jobs));
	tcase_add_loop_test(tc, every_read, 0, LMD_LEN(jobs));
	for (int i = 0; i < (int)LMD_LEN(jobs); i++)
		if (jobs[i].keep)
			tcase_add_loop_test(tc, every_read_resuming, i, i + 1);
	tcase_add_loop_test(tc, every_allocation, 0, LMD_LEN(jobs));
	suite_add_tcase(s, tc);
	return lmd_check_run(r);
}
