/* SPDX-License-Identifier: MIT
 *
 * Adapters with failing allocations and truncated files.  The numbers that adapters compute are
 * compared with merged models in tests/interop. */
#include <sys/stat.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/checkpoint/adapter/adapter.h"
#include "core/checkpoint/open.h"
#include "core/format/gguf/write.h"
#include "tests/arch_plugins.h"
#include "tests/st_file.h"
#include "tests/temp_dir.h"

#define CONFIG "{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 4}"
#define STEM   "base_model.model.model.layers.0.self_attn.q_proj.lora_"
#define PAIR                                                                                       \
	"{\"" STEM "A.weight\": {\"dtype\": \"F32\", \"shape\": [2, 8], \"data_offsets\": [0, "    \
	"64]}, \"" STEM "B.weight\": {\"dtype\": \"F32\", \"shape\": [8, 2], \"data_offsets\": "   \
	"[64, 128]}}"

static char lora[64];
static struct lmi_model *base;

static void make_dir(void)
{
	struct st_file f = st_build_llama(0, ST_LLAMA_N);
	struct lmd_error err = {0};

	temp_dir_make();
	snprintf(lora, sizeof(lora), "%s/lora", dir);
	ck_assert_int_eq(mkdir(lora, 0700), 0);
	temp_write("config.json", ST_LLAMA_CONFIG, strlen(ST_LLAMA_CONFIG));
	temp_write("model.safetensors", f.p, f.n);
	free(f.p);
	temp_write("lora/adapter_config.json", CONFIG, strlen(CONFIG));
	f = st_build(PAIR, -1, 128);
	temp_write("lora/adapter_model.safetensors", f.p, f.n);
	free(f.p);
	ck_assert_msg(lmi_model_open_any(&base, arch_plugins(), dir, LMI_OPEN_HEADER_ONLY, &err) ==
			      LMD_OK,
		      "%s", err.text);
}

static void remove_dir(void)
{
	lmi_model_close(base);
	temp_dir_remove();
}

static enum lmd_status try_open(struct lmd_error *err)
{
	struct lmi_alloc_stats before, after;
	struct lmi_adapter_file *f = NULL;
	enum lmd_status st;

	memset(err, 0, sizeof(*err));
	lmi_alloc_stats(&before);
	st = lmi_adapter_open(&f, lora, lmi_model_view(base), arch_plugins(), err);
	ck_assert_int_eq(st == LMD_OK, f != NULL);
	if (st != LMD_OK)
		ck_assert_uint_gt(strlen(err->text), 8);
	lmi_adapter_close(f);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(after.n_live, before.n_live);
	return st;
}

START_TEST(no_memory)
{
	struct lmd_error err;
	uint64_t n;

	for (int all_later = 0; all_later < 2; all_later++) {
		for (n = 1;; n++) {
			enum lmd_status st;
			bool hit;

			lmi_alloc_fail_nth(n, all_later);
			st = try_open(&err);
			hit = lmi_alloc_did_fail();
			lmi_alloc_fail_nth(0, false);
			if (!hit)
				break;
			ck_assert_msg(st == LMD_NOMEM, "allocation %llu: %s %s",
				      (unsigned long long)n, lmd_status_text((int)st), err.text);
		}
		ck_assert_uint_gt(n, 15);
	}
}
END_TEST

START_TEST(cut_at_every_byte)
{
	struct st_file f = st_build(PAIR, -1, 128);
	struct lmd_error err;

	for (size_t n = 0; n < f.n; n++) {
		temp_write("lora/adapter_model.safetensors", f.p, n);
		ck_assert_msg(try_open(&err) != LMD_OK, "cut at %zu", n);
	}
	temp_write("lora/adapter_model.safetensors", f.p, f.n);
	free(f.p);
	for (size_t n = 0; n < strlen(CONFIG); n++) {
		temp_write("lora/adapter_config.json", CONFIG, n);
		ck_assert_msg(try_open(&err) != LMD_OK, "configuration cut at %zu", n);
	}
}
END_TEST

/* The rows of B are in the model's order; the scale is alpha / rank. */
START_TEST(pair)
{
	struct lmi_adapter_file *f = NULL;
	const struct lmi_adapter_pair *p;
	struct lmd_error err;
	uint32_t n;

	ck_assert_int_eq(lmi_adapter_open(&f, lora, lmi_model_view(base), arch_plugins(), &err),
			 LMD_OK);
	ck_assert_uint_eq(lmi_adapter_n(f), 1);
	p = lmi_adapter_pair(f, 0);
	ck_assert_str_eq(p->site, "blk.0.attn_q");
	ck_assert_uint_eq(p->rank, 2);
	ck_assert_uint_eq(p->n, 8);
	ck_assert_uint_eq(p->k, 8);
	ck_assert_float_eq(p->scale, 2.0f);
	(void)lmi_adapter_invocation(f, &n);
	ck_assert_uint_eq(n, 0);
	lmi_adapter_close(f);
}
END_TEST

/* Tokens from which on a PEFT adapter is active. */
START_TEST(invocation)
{
	static const struct {
		const char *list;
		bool ok;
	} cases[] = {{"[1, 2, 0]", true},  {"[]", true},    {"null", true},  {"[-1]", false},
		     {"[1.5]", false},	   {"[1e9]", false}, {"[\"1\"]", false}, {"3", false},
		     {"[true]", false}};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_adapter_file *f = NULL;
		struct lmd_error err = {0};
		char config[160];
		const int32_t *ids;
		uint32_t n;

		snprintf(config, sizeof(config),
			 "{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 4, "
			 "\"alora_invocation_tokens\": %s}",
			 cases[i].list);
		temp_write("lora/adapter_config.json", config, strlen(config));
		if (!cases[i].ok) {
			ck_assert_int_eq(try_open(&err), LMD_INVALID);
			ck_assert_msg(strstr(err.text, "alora_invocation_tokens") != NULL, "%s",
				      err.text);
			continue;
		}
		ck_assert_msg(lmi_adapter_open(&f, lora, lmi_model_view(base), arch_plugins(),
					       &err) == LMD_OK,
			      "%s", err.text);
		ids = lmi_adapter_invocation(f, &n);
		ck_assert_uint_eq(n, i ? 0 : 3);
		if (!i)
			ck_assert_int_eq(ids[0] * 100 + ids[1] * 10 + ids[2], 120);
		lmi_adapter_close(f);
	}
}
END_TEST

/* lmi_adapter_open_sizes returns the same pairs without their numbers. */
START_TEST(sizes_only)
{
	struct lmi_adapter_file *f = NULL, *sizes = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_adapter_open(&f, lora, lmi_model_view(base), arch_plugins(), &err),
			 LMD_OK);
	ck_assert_int_eq(
		lmi_adapter_open_sizes(&sizes, lora, lmi_model_view(base), arch_plugins(), &err),
		LMD_OK);
	ck_assert_uint_eq(lmi_adapter_n(sizes), lmi_adapter_n(f));
	for (uint32_t i = 0; i < lmi_adapter_n(f); i++) {
		const struct lmi_adapter_pair *p = lmi_adapter_pair(f, i);
		const struct lmi_adapter_pair *q = lmi_adapter_pair(sizes, i);

		ck_assert_str_eq(p->site, q->site);
		ck_assert(p->rank == q->rank && p->n == q->n && p->k == q->k &&
			  p->n_slice == q->n_slice);
		ck_assert(p->a && p->b && !q->a && !q->b);
	}
	lmi_adapter_close(f);
	lmi_adapter_close(sizes);
}
END_TEST

/* A scale that is not a number would make every weight it touches NaN. */
START_TEST(alpha_of_a_gguf_adapter)
{
	static const float bad[] = {NAN, INFINITY, 1e10f};
	struct lmi_adapter_file *f = NULL;

	snprintf(lora, sizeof(lora), "%s/lora.gguf", dir);
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		struct lmi_gguf_writer *w;
		struct lmd_error err = {0};

		ck_assert_int_eq(lmi_gguf_writer_create(&w, 32, &err), LMD_OK);
		lmi_gguf_put_str(w, "general.architecture", "llama");
		lmi_gguf_put_str(w, "general.type", "adapter");
		lmi_gguf_put_str(w, "adapter.type", "lora");
		lmi_gguf_put_f32(w, "adapter.lora.alpha", bad[i]);
		ck_assert_int_eq(lmi_gguf_writer_start(w, lora, &err), LMD_OK);
		ck_assert_int_eq(lmi_gguf_writer_finish(w, &err), LMD_OK);
		lmi_gguf_writer_destroy(w);
		ck_assert_int_eq(
			lmi_adapter_open(&f, lora, lmi_model_view(base), arch_plugins(), &err),
			LMD_INVALID);
		ck_assert_msg(strstr(err.text, "adapter.lora.alpha") != NULL, "%s", err.text);
	}
	(void)remove(lora);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("adapter");
	TCase *tc = tcase_create("adapter");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, make_dir, remove_dir);
	tcase_add_test(tc, no_memory);
	tcase_add_test(tc, cut_at_every_byte);
	tcase_add_test(tc, pair);
	tcase_add_test(tc, sizes_only);
	tcase_add_test(tc, invocation);
	tcase_add_test(tc, alpha_of_a_gguf_adapter);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
