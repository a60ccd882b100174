/* SPDX-License-Identifier: MIT
 *
 * The matrix in memory.  Entries are sorted by name, so that files do not depend on the order in
 * which they were filled. */
#include "core/checkpoint/imatrix/imatrix.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/sign/policy.h"

#define NAME_BYTES 4096u /* maximum length of a name */
#define SHOW	   100

void lmi_imatrix_init(struct lmi_imatrix *m)
{
	*m = (struct lmi_imatrix){.chunk_tokens = LMI_IMATRIX_CHUNK};
}

static void entry_fini(struct lmi_imatrix_entry *e)
{
	lmi_free(e->name);
	lmi_free(e->sum2);
	lmi_free(e->sum);
	lmi_free(e->count);
}

void lmi_imatrix_fini(struct lmi_imatrix *m)
{
	for (uint32_t i = 0; i < m->n_entry; i++)
		entry_fini(&m->entry[i]);
	for (uint32_t i = 0; i < m->n_dataset; i++)
		lmi_free(m->dataset[i]);
	lmi_free(m->entry);
	lmi_free(m->dataset);
	*m = (struct lmi_imatrix){0};
}

/* Sets *at to the index where the name is or would be inserted; returns whether it exists. */
static bool find_index(const struct lmi_imatrix *m, const char *name, uint32_t *at)
{
	uint32_t lo = 0, hi = m->n_entry;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int c = strcmp(name, m->entry[mid].name);

		if (!c) {
			*at = mid;
			return true;
		}
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	*at = lo;
	return false;
}

const struct lmi_imatrix_entry *lmi_imatrix_find(const struct lmi_imatrix *m, const char *name)
{
	uint32_t at;

	return find_index(m, name, &at) ? &m->entry[at] : NULL;
}

static enum lmd_status check_shape(const struct lmi_imatrix *m, const char *name, uint64_t n,
				   uint32_t n_count, struct lmd_error *err)
{
	char show[SHOW];

	lmi_printable(show, sizeof(show), name, strlen(name));
	if (!*name || strlen(name) > NAME_BYTES)
		return lmd_fail(err, LMD_INVALID, "entry %s: name of %zu bytes, must be 1..%u",
				show, strlen(name), NAME_BYTES);
	if (!n || !n_count || n % n_count)
		return lmd_fail(err, LMD_INVALID,
				"entry %s: %llu values are not a multiple of %u counts", show,
				(unsigned long long)n, n_count);
	if (m->n_entry == LMI_IMATRIX_ENTRIES || n > LMI_IMATRIX_VALUES - m->n_value)
		return lmd_fail(err, LMD_INVALID,
				"entry %s: %u entries with %llu values and %llu more, must be at "
				"most %u with %llu",
				show, m->n_entry, (unsigned long long)m->n_value,
				(unsigned long long)n, LMI_IMATRIX_ENTRIES,
				(unsigned long long)LMI_IMATRIX_VALUES);
	return LMD_OK;
}

static enum lmd_status insert(struct lmi_imatrix *m, uint32_t at, const char *name, uint64_t n,
			      uint32_t n_count, bool with_sum, struct lmd_error *err)
{
	enum lmd_status st = check_shape(m, name, n, n_count, err);
	struct lmi_imatrix_entry e = {.n = n, .n_count = n_count};

	if (st != LMD_OK)
		return st;
	if (m->n_entry == m->cap_entry) {
		uint32_t cap = m->cap_entry ? 2 * m->cap_entry : 64;
		void *p = lmi_realloc(m->entry, cap, sizeof(*m->entry));

		if (!p)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u entries", cap);
		m->entry = p;
		m->cap_entry = cap;
	}
	e.name = lmi_strndup(name, strlen(name));
	e.sum2 = lmi_alloc((size_t)n, sizeof(float));
	e.count = lmi_alloc(n_count, sizeof(float));
	if (with_sum)
		e.sum = lmi_alloc((size_t)n, sizeof(float));
	if (!e.name || !e.sum2 || !e.count || (with_sum && !e.sum)) {
		entry_fini(&e);
		return lmd_fail(err, LMD_NOMEM, "entry %.80s: no memory for %llu values", name,
				(unsigned long long)n);
	}
	memmove(&m->entry[at + 1], &m->entry[at], (m->n_entry - at) * sizeof(e));
	m->entry[at] = e;
	m->n_entry++;
	m->n_value += n;
	return LMD_OK;
}

/* Replaces the one count for all matrices by n_count equal ones. */
static enum lmd_status expand_count(struct lmi_imatrix_entry *e, uint32_t n_count,
				    struct lmd_error *err)
{
	float *p = lmi_realloc(e->count, n_count, sizeof(*p));

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u counts", n_count);
	e->count = p;
	for (uint32_t i = 1; i < n_count; i++)
		p[i] = p[0];
	e->n_count = n_count;
	return LMD_OK;
}

enum lmd_status lmi_imatrix_entry(struct lmi_imatrix *m, const char *name, uint64_t n,
				  uint32_t n_count, bool with_sum, struct lmi_imatrix_entry **out,
				  struct lmd_error *err)
{
	struct lmi_imatrix_entry *e;
	enum lmd_status st = LMD_OK;
	char show[SHOW];
	uint32_t at;

	if (!find_index(m, name, &at))
		st = insert(m, at, name, n, n_count, with_sum, err);
	if (st != LMD_OK)
		return st;
	e = &m->entry[at];
	if (e->n == n && e->n_count == 1 && n_count > 1 && n % n_count == 0)
		st = expand_count(e, n_count, err);
	else if (e->n != n || (e->n_count != n_count && n_count != 1))
		st = lmd_fail(err, LMD_INVALID,
			      "entry %s: %llu values with %u counts, but earlier ones had %llu "
			      "with %u",
			      lmi_printable(show, sizeof(show), name, strlen(name)),
			      (unsigned long long)n, n_count, (unsigned long long)e->n, e->n_count);
	if (st == LMD_OK)
		*out = e;
	return st;
}

static bool are_valid(const float *v, uint64_t n, bool negative)
{
	for (uint64_t i = 0; i < n; i++)
		if (!isfinite(v[i]) || (!negative && v[i] < 0))
			return false;
	return true;
}

enum lmd_status lmi_imatrix_add(struct lmi_imatrix *m, const char *name, uint64_t n,
				uint32_t n_count, const float *sum2, const float *sum,
				const float *count, struct lmd_error *err)
{
	bool is_new = !lmi_imatrix_find(m, name);
	struct lmi_imatrix_entry *e;
	enum lmd_status st;
	char show[SHOW];

	lmi_printable(show, sizeof(show), name, strlen(name));
	if (!are_valid(sum2, n, false) || !are_valid(count, n_count, false) ||
	    (sum && !are_valid(sum, n, true)))
		return lmd_fail(err, LMD_CORRUPT,
				"entry %s: a value is negative, infinite or NaN", show);
	st = lmi_imatrix_entry(m, name, n, n_count, sum != NULL, &e, err);
	if (st != LMD_OK)
		return st;
	for (uint64_t i = 0; i < n; i++)
		e->sum2[i] += sum2[i];
	for (uint32_t i = 0; i < e->n_count; i++)
		e->count[i] += count[n_count == 1 ? 0 : i];
	if (sum && e->sum) {
		for (uint64_t i = 0; i < n; i++)
			e->sum[i] += sum[i];
	} else if (!is_new) { /* only one of the two has sums, so the total would be too small */
		lmi_free(e->sum);
		e->sum = NULL;
	}
	if (!are_valid(e->sum2, n, false) || !are_valid(e->count, e->n_count, false))
		return lmd_fail(err, LMD_CORRUPT, "entry %s: the sum is infinite", show);
	return LMD_OK;
}

enum lmd_status lmi_imatrix_add_dataset(struct lmi_imatrix *m, const char *text, size_t n,
					struct lmd_error *err)
{
	char **p, *copy;

	if (m->n_dataset == LMI_IMATRIX_DATASETS)
		return lmd_fail(err, LMD_INVALID,
				"too many data sets, at most %u are allowed", LMI_IMATRIX_DATASETS);
	p = lmi_realloc(m->dataset, m->n_dataset + 1, sizeof(*p));
	if (p)
		m->dataset = p;
	copy = p ? lmi_strndup(text, n) : NULL;
	if (!copy)
		return lmd_fail(err, LMD_NOMEM, "no memory for a data set name");
	m->dataset[m->n_dataset++] = copy;
	return LMD_OK;
}

void lmi_imatrix_means(const struct lmi_imatrix_entry *e, float *mean)
{
	uint64_t row = e->n / e->n_count;

	for (uint32_t k = 0; k < e->n_count; k++)
		for (uint64_t i = k * row; i < (k + 1) * row; i++)
			mean[i] = e->count[k] > 0 ? e->sum2[i] / e->count[k] : 1;
}

static enum lmd_status read_checked(struct lmi_imatrix *m, const char *path, struct lmd_error *err)
{
	char magic[4] = "", show[112];
	struct lmi_file f;
	enum lmd_status st = lmi_file_open(&f, path, err);

	if (st != LMD_OK)
		return st;
	if (f.bytes >= 4)
		st = lmi_file_read(&f, 0, magic, 4, err);
	if (st == LMD_OK && !memcmp(magic, "GGUF", 4)) {
		lmi_file_close(&f);
		return lmi_imatrix_read_gguf(m, path, err);
	}
	if (st == LMD_OK)
		st = lmi_imatrix_read_dat(m, &f, err);
	lmi_file_close(&f);
	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), path));
	return st;
}

enum lmd_status lmi_imatrix_read(struct lmi_imatrix *m, const char *path, struct lmd_error *err)
{
	struct lmi_sign_scope scope;
	enum lmd_status st = lmi_sign_scope_begin_path(&scope, path, err);

	if (st == LMD_OK)
		st = read_checked(m, path, err);
	lmi_sign_scope_end(&scope);
	return st;
}
