/* SPDX-License-Identifier: MIT
 *
 * Importance matrices: writing and reading both formats, adding, rejected input, truncated and
 * changed files, failing allocations. */
#include "tests/lmd_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/format/gguf/write.h"
#include "core/checkpoint/imatrix/imatrix.h"

static char dir[] = "/tmp/lmd-imatrix-XXXXXX";
static char path[128];
static struct lmd_error err;
static struct lmi_imatrix m;

static void setup(void)
{
	static const float sum2[6] = {1, 4, 9, 2, 0.5f, 8}, sum[6] = {1, -2, 3, 0, -0.5f, 2};
	static const float one = 512, two[2] = {1024, 0};

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/i", dir);
	lmi_imatrix_init(&m);
	OK(lmi_imatrix_add(&m, "blk.1.ffn_down_exps.weight", 6, 2, sum2, sum, two, &err));
	OK(lmi_imatrix_add(&m, "blk.1.attn_q.weight", 4, 1, sum2, sum, &one, &err));
	OK(lmi_imatrix_add(&m, "blk.0.attn_q.weight", 4, 1, sum2 + 1, sum, &one, &err));
	OK(lmi_imatrix_add_dataset(&m, "first", 5, &err));
	OK(lmi_imatrix_add_dataset(&m, "last.txt", 8, &err));
	m.n_chunk = 2;
}

static void teardown(void)
{
	struct lmi_alloc_stats s;
	char cmd[160];

	lmi_imatrix_fini(&m);
	lmi_imatrix_fini(&m);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

static const struct lmi_imatrix_entry *entry(const struct lmi_imatrix *from, const char *name)
{
	const struct lmi_imatrix_entry *e = lmi_imatrix_find(from, name);

	ck_assert_ptr_nonnull(e);
	return e;
}

START_TEST(gguf)
{
	struct lmi_imatrix b;

	OK(lmi_imatrix_write_gguf(&m, path, &err));
	lmi_imatrix_init(&b);
	OK(lmi_imatrix_read(&b, path, &err));
	ck_assert_uint_eq(b.n_entry, 3);
	ck_assert_uint_eq(b.n_chunk, 2);
	ck_assert_uint_eq(b.chunk_tokens, 512);
	ck_assert_uint_eq(b.n_dataset, 2);
	ck_assert_str_eq(b.dataset[1], "last.txt");
	ck_assert_str_eq(b.entry[0].name, "blk.0.attn_q.weight"); /* sorted */
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_str_eq(b.entry[i].name, m.entry[i].name);
		ck_assert_uint_eq(b.entry[i].n, m.entry[i].n);
		ck_assert_uint_eq(b.entry[i].n_count, m.entry[i].n_count);
		ck_assert_mem_eq(b.entry[i].sum2, m.entry[i].sum2, m.entry[i].n * 4);
		ck_assert_mem_eq(b.entry[i].sum, m.entry[i].sum, m.entry[i].n * 4);
		ck_assert_mem_eq(b.entry[i].count, m.entry[i].count, m.entry[i].n_count * 4);
	}
	OK(lmi_imatrix_read(&b, path, &err)); /* read again: everything doubles */
	ck_assert_float_eq(entry(&b, "blk.1.ffn_down_exps.weight")->sum2[5], 16);
	ck_assert_float_eq(entry(&b, "blk.1.ffn_down_exps.weight")->count[0], 2048);
	ck_assert_uint_eq(b.n_chunk, 4);
	lmi_imatrix_fini(&b);
}
END_TEST

START_TEST(dat)
{
	struct lmi_imatrix b;
	float mean[6], again[6];

	OK(lmi_imatrix_write_dat(&m, path, &err));
	lmi_imatrix_init(&b);
	OK(lmi_imatrix_read(&b, path, &err));
	ck_assert_uint_eq(b.n_entry, 3);
	ck_assert_uint_eq(b.n_dataset, 1);
	ck_assert_str_eq(b.dataset[0], "last.txt");
	lmi_imatrix_means(entry(&m, "blk.1.ffn_down_exps.weight"), mean);
	lmi_imatrix_means(entry(&b, "blk.1.ffn_down_exps.weight"), again);
	for (int i = 0; i < 6; i++)
		ck_assert_float_eq_tol(mean[i], again[i], 1e-6f);
	ck_assert_float_eq(mean[4], 1); /* an expert that was never used */
	ck_assert_float_eq(mean[1], 4.0f / 1024);
	/* one count for all matrices stands for one count each */
	OK(lmi_imatrix_write_gguf(&m, path, &err));
	OK(lmi_imatrix_read(&b, path, &err));
	ck_assert_uint_eq(entry(&b, "blk.1.ffn_down_exps.weight")->n_count, 2);
	ck_assert_ptr_null(entry(&b, "blk.1.ffn_down_exps.weight")->sum);
	lmi_imatrix_fini(&b);
}
END_TEST

START_TEST(rejected)
{
	static const float good[4] = {1, 2, 3, 4}, bad[4] = {1, NAN, 3, 4},
			   below[4] = {1, -1, 0, 0};
	static const float one = 1, less = -1;
	struct lmi_gguf_writer *w;

	ck_assert_int_eq(lmi_imatrix_add(&m, "a", 4, 1, bad, NULL, &one, &err), LMD_CORRUPT);
	ck_assert_int_eq(lmi_imatrix_add(&m, "a", 4, 1, below, NULL, &one, &err), LMD_CORRUPT);
	ck_assert_int_eq(lmi_imatrix_add(&m, "a", 4, 1, good, NULL, &less, &err), LMD_CORRUPT);
	ck_assert_int_eq(lmi_imatrix_add(&m, "a", 4, 1, good, bad, &one, &err), LMD_CORRUPT);
	ck_assert_int_eq(lmi_imatrix_add(&m, "a", 4, 3, good, NULL, good, &err), LMD_INVALID);
	ck_assert_int_eq(lmi_imatrix_add(&m, "", 4, 1, good, NULL, &one, &err), LMD_INVALID);
	ck_assert_int_eq(lmi_imatrix_add(&m, "blk.1.attn_q.weight", 3, 1, good, NULL, &one, &err),
			 LMD_INVALID);
	ck_assert_uint_eq(m.n_entry, 3);

	/* sums without counts; tensors of another type; another kind of file */
	for (int k = 0; k < 3; k++) {
		OK(lmi_gguf_writer_create(&w, 32, &err));
		lmi_gguf_put_str(w, "general.type", k == 2 ? "model" : "imatrix");
		lmi_gguf_put_str(w, "general.architecture", "llama");
		lmi_gguf_add_tensor(w, "a.in_sum2", k == 1 ? LMD_DTYPE_F16 : LMD_DTYPE_F32, 1,
				    (int64_t[]){4});
		if (k)
			lmi_gguf_add_tensor(w, "a.counts", LMD_DTYPE_F32, 1, (int64_t[]){1});
		OK(lmi_gguf_writer_start(w, path, &err));
		OK(lmi_gguf_writer_data(w, good, k == 1 ? 8 : 16, &err));
		if (k)
			OK(lmi_gguf_writer_data(w, good, 4, &err));
		OK(lmi_gguf_writer_finish(w, &err));
		lmi_gguf_writer_destroy(w);
		ck_assert_int_eq(lmi_imatrix_read(&m, path, &err),
				 (k == 2 ? LMD_INVALID : LMD_CORRUPT));
		ck_assert_ptr_nonnull(strstr(err.text, path));
	}
}
END_TEST

START_TEST(statistics)
{
	struct lmi_imatrix_stats s;

	lmi_imatrix_stats(&m, entry(&m, "blk.1.ffn_down_exps.weight"), &s);
	ck_assert_uint_eq(s.n, 3); /* the second expert was never used */
	ck_assert_double_eq_tol(s.sum, 14.0 / 1024, 1e-12);
	ck_assert_double_eq_tol(s.max, 9.0 / 1024, 1e-12);
	ck_assert_double_eq_tol(s.max_entropy, log2(3), 1e-12);
	ck_assert(s.entropy > 0 && s.entropy < s.max_entropy);
	ck_assert(isnan(s.cosine));
	lmi_imatrix_stats(&m, entry(&m, "blk.1.attn_q.weight"), &s);
	ck_assert(s.cosine > 0 && s.cosine < 1);
}
END_TEST

static size_t read_file(uint8_t *buf, size_t cap)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(buf, 1, cap, f);
	fclose(f);
	return n;
}

static enum lmd_status read_bytes(const uint8_t *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	struct lmi_imatrix b;
	enum lmd_status st;

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(p, 1, n, f), n);
	fclose(f);
	lmi_imatrix_init(&b);
	st = lmi_imatrix_read(&b, path, &err);
	for (uint32_t i = 0; st == LMD_OK && i < b.n_entry; i++)
		for (uint64_t k = 0; k < b.entry[i].n; k++)
			ck_assert(b.entry[i].sum2[k] >= 0);
	lmi_imatrix_fini(&b);
	return st;
}

/* Truncated at every byte, and with changed bytes. */
START_TEST(hostile)
{
	uint64_t seed = lmd_seed("hostile", 5);
	static uint8_t good[8192], bad[8192];

	for (int k = 0; k < 2; k++) {
		size_t n, last;

		OK(k ? lmi_imatrix_write_dat(&m, path, &err)
		     : lmi_imatrix_write_gguf(&m, path, &err));
		n = read_file(good, sizeof(good));
		ck_assert(n > 100 && n < sizeof(good));
		last = k ? n - 16 : n - 24; /* the end of an older file, or the start of the
					     * padding */
		for (size_t cut = 0; cut < n; cut++)
			if (read_bytes(good, cut) == LMD_OK)
				ck_assert_uint_ge(cut, last);
		for (int i = 0; i < 3000; i++) {
			memcpy(bad, good, n);
			for (uint64_t c = 1 + lmd_rand(&seed) % 3; c; c--)
				bad[lmd_rand(&seed) % n] = (uint8_t)lmd_rand(&seed);
			(void)read_bytes(bad, n);
		}
	}
}
END_TEST

START_TEST(no_memory)
{
	for (int k = 0; k < 4; k++) {
		uint64_t n;

		if (k % 2)
			OK(k > 1 ? lmi_imatrix_write_dat(&m, path, &err)
				 : lmi_imatrix_write_gguf(&m, path, &err));
		for (n = 1;; n++) {
			struct lmi_imatrix b;
			enum lmd_status st;

			lmi_imatrix_init(&b);
			lmi_alloc_fail_nth(n, false);
			st = k % 2 ? lmi_imatrix_read(&b, path, &err)
			     : k   ? lmi_imatrix_write_dat(&m, path, &err)
				   : lmi_imatrix_write_gguf(&m, path, &err);
			if (lmi_alloc_did_fail())
				ck_assert_int_eq(st, LMD_NOMEM);
			else
				OK(st);
			lmi_imatrix_fini(&b);
			if (!lmi_alloc_did_fail())
				break;
		}
		lmi_alloc_fail_nth(0, false);
		ck_assert_uint_gt(n, 5);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("imatrix");
	TCase *tc = tcase_create("files");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, gguf);
	tcase_add_test(tc, dat);
	tcase_add_test(tc, rejected);
	tcase_add_test(tc, statistics);
	tcase_add_test(tc, hostile);
	tcase_add_test(tc, no_memory);
	suite_add_tcase(s, tc);
	return lmd_check_run(r);
}
