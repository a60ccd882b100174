/* SPDX-License-Identifier: MIT
 *
 * Conversion with failing system calls, truncated sources, cancelled runs and values beyond the
 * type.  No file is left and no memory leaks. */
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/checkpoint/convert/convert.h"
#include "core/checkpoint/open.h"
#include "tests/arch_plugins.h"
#include "tests/fault_loops.h"
#include "tests/st_file.h"

static char out[64];

/* Writes weights of 0.5, or of `v` in the embedding. */
static void write_model(float v)
{
	struct st_file f = st_build_llama(0, ST_LLAMA_N);
	size_t head = f.n - 1856;

	for (size_t i = head; i < f.n; i += 4) {
		float x = i < head + 128 ? v : 0.5f;

		memcpy(f.p + i, &x, 4);
	}
	temp_write("model.safetensors", f.p, f.n);
	free(f.p);
}

static void make_dir(void)
{
	static const char tokenizer[] =
		"{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
		"\"use_regex\": true}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, "
		"\"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 3, "
		"\"content\": \"<s>\", \"special\": true}]}";
	static const char config[] = "{\"chat_template\": \"{{x}}\", \"bos_token\": \"<s>\"}";

	(void)arch_plugins(); /* before memory is counted */
	temp_dir_make();
	snprintf(out, sizeof(out), "%s/out.gguf", dir);
	temp_write("config.json", ST_LLAMA_CONFIG, strlen(ST_LLAMA_CONFIG));
	temp_write("tokenizer.json", tokenizer, strlen(tokenizer));
	temp_write("tokenizer_config.json", config, strlen(config));
	write_model(0.5f);
}

/* Only the four files of the folder exist. */
static void check_nothing_left(void)
{
	ck_assert_uint_eq(temp_n_files(), 4);
}

static enum lmd_status convert(const struct lmi_convert_opts *o, struct lmd_error *err)
{
	struct lmi_alloc_stats before, after;
	struct lmi_convert_opts with = *o;
	struct lmi_convert *c = NULL;
	enum lmd_status st;

	with.plugins = arch_plugins();
	lmi_alloc_stats(&before);
	st = lmi_convert_open(&c, dir, &with, err);
	if (st == LMD_OK)
		st = lmi_convert_run(c, out, err);
	lmi_convert_close(c);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(after.n_live, before.n_live);
	ck_assert_int_eq(st != LMD_OK, access(out, F_OK) != 0);
	if (st == LMD_OK)
		ck_assert_int_eq(unlink(out), 0);
	check_nothing_left();
	return st;
}

/* ---- failing system calls ---- */

static enum lmd_status run(fault_progress_fn progress, bool keep, struct lmd_error *err)
{
	const struct lmi_convert_opts o = {
		.plugins = arch_plugins(),
		.type = LMI_CONVERT_AUTO,
		.progress = progress,
		.resume.keep = keep ? LMI_GGUF_KEEP_RESUME : LMI_GGUF_KEEP_NONE,
	};
	struct lmi_convert *c = NULL;
	enum lmd_status st = lmi_convert_open(&c, dir, &o, err);

	if (st == LMD_OK)
		st = lmi_convert_run(c, out, err);
	lmi_convert_close(c);
	return st;
}

static enum lmd_status run_once(fault_progress_fn progress, struct lmd_error *err)
{
	return run(progress, false, err);
}

static enum lmd_status run_keeping(fault_progress_fn progress, struct lmd_error *err)
{
	return run(progress, true, err);
}

static const struct fault_job jobs[] = {
	{.name = "folder", .run = run_once, .source = dir, .result = {"out.gguf"}, .stem = "out."},
	{.name = "folder, resumed",
	 .run = run_keeping,
	 .source = dir,
	 .result = {"out.gguf"},
	 .stem = "out.",
	 .keep = true},
};

START_TEST(every_write)
{
	fault_writes(&jobs[_i]);
}
END_TEST

START_TEST(every_read)
{
	fault_reads(&jobs[_i], NULL);
}
END_TEST

static bool cancel(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	return done < total - total / 4;
}

START_TEST(every_read_resuming)
{
	fault_reads(&jobs[1], cancel);
}
END_TEST

/* Two lists of the tokenizer keep their size if shrinking them fails. */
START_TEST(every_allocation)
{
	fault_allocations(&jobs[_i], 2);
}
END_TEST

/* ---- other failures ---- */

/* The source is truncated at each of its bytes while it is read. */
START_TEST(short_reads)
{
	const struct lmi_convert_opts o = {.type = LMD_DTYPE_F32, .plugins = arch_plugins()};
	char path[160];
	unsigned n_rejected = 0;

	snprintf(path, sizeof(path), "%s/model.safetensors", dir);
	for (off_t end = 0; end < 1856; end += 61) {
		struct lmi_convert *c = NULL;
		struct lmd_error err = {0};
		struct stat sb;

		write_model(0.5f);
		ck_assert_int_eq(lmi_convert_open(&c, dir, &o, &err), LMD_OK);
		ck_assert_int_eq(stat(path, &sb), 0);
		ck_assert_int_eq(truncate(path, sb.st_size - 1 - end), 0);
		ck_assert_int_eq(lmi_convert_run(c, out, &err), LMD_IO);
		ck_assert_msg(strstr(err.text, "model.safetensors") && strstr(err.text, "ends"),
			      "%s", err.text);
		lmi_convert_close(c);
		check_nothing_left();
		n_rejected++;
	}
	ck_assert_uint_gt(n_rejected, 20);
}
END_TEST

struct stop {
	uint64_t at;
	uint64_t last;
};

static bool cancel_at(void *arg, uint64_t done, uint64_t total)
{
	struct stop *s = arg;

	ck_assert(done <= total && done >= s->last);
	s->last = done;
	return done < s->at;
}

START_TEST(cancelled)
{
	struct stop s = {.at = 1500};
	struct lmi_convert_opts o = {
		.type = LMD_DTYPE_F16, .progress = cancel_at, .progress_arg = &s};
	struct lmd_error err;

	ck_assert_int_eq(convert(&o, &err), LMD_CANCELLED);
	s = (struct stop){.at = UINT64_MAX};
	ck_assert_int_eq(convert(&o, &err), LMD_OK);
	ck_assert_uint_gt(s.last, 1000);
}
END_TEST

START_TEST(values_beyond)
{
	struct lmi_convert_opts o = {.type = LMD_DTYPE_F16};
	struct lmd_error err;

	write_model(70000.0f);
	ck_assert_int_eq(convert(&o, &err), LMD_INVALID);
	ck_assert_msg(strstr(err.text, "token_embd.weight") && strstr(err.text, "bf16"), "%s",
		      err.text);
	o.type = LMD_DTYPE_BF16;
	ck_assert_msg(convert(&o, &err) == LMD_OK, "%s", err.text);
	o.type = LMD_DTYPE_I32;
	ck_assert_int_eq(convert(&o, &err), LMD_INVALID);
	o.type = 77;
	ck_assert_int_eq(convert(&o, &err), LMD_INVALID);
}
END_TEST

/* Keys of a vocabulary. */
START_TEST(vocabulary)
{
	const struct lmi_convert_opts o = {
		.type = LMI_CONVERT_AUTO, .pre = "smollm", .plugins = arch_plugins()};
	struct lmi_convert *c = NULL;
	struct lmi_model *m = NULL;
	const struct lmd_model *v;
	struct lmd_error err;

	ck_assert_int_eq(lmi_convert_open(&c, dir, &o, &err), LMD_OK);
	ck_assert_int_eq(lmi_convert_run(c, out, &err), LMD_OK);
	lmi_convert_close(c);
	ck_assert_int_eq(lmi_model_open(&m, out, 0, &err), LMD_OK);
	v = lmi_model_view(m);
	ck_assert_str_eq(v->tok->kind, "gpt2");
	ck_assert_str_eq(v->tok->pre, "smollm");
	ck_assert_uint_eq(v->tok->n_tokens, 4);
	ck_assert_uint_eq(v->tok->n_merges, 1);
	ck_assert_int_eq(v->tok->bos, 3);
	ck_assert_int_eq(v->tok->type[3], LMD_TOKEN_CONTROL);
	ck_assert_int_eq(v->tok->add_bos, 0);
	ck_assert_uint_eq(v->chat_template.len, 5);
	lmi_model_close(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("convert");
	TCase *tc = tcase_create("convert");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_dir, temp_dir_remove);
	tcase_add_loop_test(tc, every_write, 0, LMD_LEN(jobs));
	tcase_add_loop_test(tc, every_read, 0, LMD_LEN(jobs));
	tcase_add_test(tc, every_read_resuming);
	tcase_add_loop_test(tc, every_allocation, 0, LMD_LEN(jobs));
	tcase_add_test(tc, short_reads);
	tcase_add_test(tc, cancelled);
	tcase_add_test(tc, values_beyond);
	tcase_add_test(tc, vocabulary);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
