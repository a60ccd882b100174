/* SPDX-License-Identifier: MIT
 *
 * Reads and writes importance matrices as GGUF: tensors NAME.in_sum2 [columns, matrices] and
 * NAME.counts [1, matrices], and NAME.in_sum if there are plain sums; keys general.type,
 * imatrix.datasets, imatrix.chunk_count, imatrix.chunk_size. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/checkpoint/open.h"
#include "core/format/gguf/write.h"
#include "core/checkpoint/imatrix/imatrix.h"
#include "core/model/model.h"

#define SUM2  ".in_sum2"
#define SUM   ".in_sum"
#define COUNT ".counts"

static uint64_t n_values(const struct lmd_tensor *t)
{
	return t->bytes / 4; /* f32 */
}

/* Finds the tensor NAME SUFFIX; *out is NULL if there is none.  LMD_CORRUPT if it is not f32. */
static enum lmd_status sibling(const struct lmd_model *v, const char *name, size_t n,
			       const char *suffix, const struct lmd_tensor **out,
			       struct lmd_error *err)
{
	char full[LMI_MODEL_NAME_BYTES + 16];

	(void)snprintf(full, sizeof(full), "%.*s%s", (int)n, name, suffix);
	*out = v->find_tensor(v, full);
	if (*out && (*out)->dtype != LMD_DTYPE_F32)
		return lmd_fail(err, LMD_CORRUPT, "tensor %s: type %u, must be f32 (0)", full,
				(*out)->dtype);
	return LMD_OK;
}

static enum lmd_status load(const struct lmi_model *m, const struct lmd_tensor *t, float **out,
			    struct lmd_error *err)
{
	float *p = lmi_alloc((size_t)n_values(t), sizeof(*p));
	enum lmd_status st;

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "tensor %s: no memory for %llu values", t->name,
				(unsigned long long)n_values(t));
	st = lmi_model_read(m, t, 0, p, (size_t)t->bytes, err);
	if (st == LMD_OK)
		*out = p;
	else
		lmi_free(p);
	return st;
}

/* Reads the entry whose sums of squares are in tensor t. */
static enum lmd_status read_entry(struct lmi_imatrix *im, const struct lmi_model *m,
				  const struct lmd_tensor *t, size_t n, struct lmd_error *err)
{
	const struct lmd_model *v = lmi_model_view(m);
	const struct lmd_tensor *count, *sum;
	float *a = NULL, *b = NULL, *c = NULL;
	char name[LMI_MODEL_NAME_BYTES + 1];
	enum lmd_status st = sibling(v, t->name, n, COUNT, &count, err);

	(void)snprintf(name, sizeof(name), "%.*s", (int)n, t->name);
	if (st == LMD_OK)
		st = sibling(v, t->name, n, SUM, &sum, err);
	if (st != LMD_OK)
		return st;
	if (t->dtype != LMD_DTYPE_F32)
		return lmd_fail(err, LMD_CORRUPT, "tensor %s: type %u, must be f32 (0)", t->name,
				t->dtype);
	if (!count)
		return lmd_fail(err, LMD_CORRUPT,
				"tensor %s: its counts, tensor %s%s, are missing", t->name, name,
				COUNT);
	if (n_values(count) > UINT32_MAX || n_values(t) % n_values(count) ||
	    (sum && n_values(sum) != n_values(t)))
		return lmd_fail(err, LMD_CORRUPT,
				"entry %s: %llu squares, %llu sums and %llu counts do not match",
				name, (unsigned long long)n_values(t),
				(unsigned long long)(sum ? n_values(sum) : 0),
				(unsigned long long)n_values(count));
	st = load(m, t, &a, err);
	if (st == LMD_OK)
		st = load(m, count, &b, err);
	if (st == LMD_OK && sum)
		st = load(m, sum, &c, err);
	if (st == LMD_OK)
		st = lmi_imatrix_add(im, name, n_values(t), (uint32_t)n_values(count), a, c, b,
				     err);
	lmi_free(a);
	lmi_free(b);
	lmi_free(c);
	return st;
}

static enum lmd_status read_keys(struct lmi_imatrix *im, const struct lmi_model *m,
				 struct lmd_error *err)
{
	const struct lmd_model *v = lmi_model_view(m);
	const struct lmd_meta *names = v->find_meta(v, "imatrix.datasets");
	int64_t n_chunk = 0, chunk = im->chunk_tokens;
	struct lmd_str type = {"", 0};
	bool found;
	enum lmd_status st = lmi_model_get_str(m, "general.type", &type, &found, err);

	if (st == LMD_OK && found && (type.len != 7 || memcmp(type.ptr, "imatrix", 7) != 0)) {
		char show[32];

		return lmd_fail(err, LMD_INVALID, "general.type: \"%s\", must be \"imatrix\"",
				lmi_printable(show, sizeof(show), type.ptr, type.len));
	}
	if (st == LMD_OK)
		st = lmi_model_get_int(m, "imatrix.chunk_count", 0, UINT32_MAX, &n_chunk, &found,
				       err);
	if (st == LMD_OK)
		st = lmi_model_get_int(m, "imatrix.chunk_size", 1, INT32_MAX, &chunk, &found, err);
	if (st != LMD_OK)
		return st;
	im->chunk_tokens = (uint32_t)chunk;
	if ((uint64_t)n_chunk > UINT32_MAX - im->n_chunk)
		return lmd_fail(err, LMD_INVALID,
				"imatrix.chunk_count: %lld, the sum with earlier files exceeds "
				"2^32 - 1",
				(long long)n_chunk);
	im->n_chunk += (uint32_t)n_chunk;
	for (uint64_t i = 0; st == LMD_OK && names && names->type == LMD_META_ARR_STR &&
			     i < names->n; i++) {
		const struct lmd_str *s = (const struct lmd_str *)names->v.a + i;

		st = lmi_imatrix_add_dataset(im, s->ptr, s->len, err);
	}
	return st;
}

enum lmd_status lmi_imatrix_read_gguf(struct lmi_imatrix *im, const char *path,
				      struct lmd_error *err)
{
	struct lmi_model *m = NULL;
	const struct lmd_model *v;
	enum lmd_status st;
	char show[112];

	st = lmi_model_open(&m, path, LMI_OPEN_HEADER_ONLY, err);
	if (st != LMD_OK)
		return st;
	v = lmi_model_view(m);
	st = read_keys(im, m, err);
	for (uint32_t i = 0; st == LMD_OK && i < v->n_tensors; i++) {
		const char *name = v->tensors[i].name;
		size_t n = strlen(name), k = strlen(SUM2);

		if (n > k && !strcmp(name + n - k, SUM2))
			st = read_entry(im, m, &v->tensors[i], n - k, err);
	}
	if (st == LMD_OK && !im->n_entry)
		st = lmd_fail(err, LMD_INVALID,
			      "contains no tensor NAME%s, so it is not an importance matrix", SUM2);
	lmi_model_close(m);
	if (st != LMD_OK && err && !strstr(err->text, path))
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), path));
	return st;
}

static void declare(struct lmi_gguf_writer *w, const char *name, const char *suffix, uint64_t row,
		    uint32_t n)
{
	const int64_t dims[2] = {(int64_t)row, n};
	char full[LMI_MODEL_NAME_BYTES + 16 + 1];

	/* the writer rejects a name that is too long */
	(void)snprintf(full, sizeof(full), "%s%s", name, suffix);
	lmi_gguf_add_tensor(w, full, LMD_DTYPE_F32, 2, dims);
}

static void put_keys(struct lmi_gguf_writer *w, const struct lmi_imatrix *m,
		     struct lmd_str *names)
{
	for (uint32_t i = 0; i < m->n_dataset; i++)
		names[i] = (struct lmd_str){m->dataset[i], strlen(m->dataset[i])};
	lmi_gguf_put_str(w, "general.type", "imatrix");
	lmi_gguf_put_strings(w, "imatrix.datasets", names, m->n_dataset);
	lmi_gguf_put_u32(w, "imatrix.chunk_count", m->n_chunk);
	lmi_gguf_put_u32(w, "imatrix.chunk_size", m->chunk_tokens);
	for (uint32_t i = 0; i < m->n_entry; i++) {
		const struct lmi_imatrix_entry *e = &m->entry[i];

		declare(w, e->name, SUM2, e->n / e->n_count, e->n_count);
		declare(w, e->name, COUNT, 1, e->n_count);
		if (e->sum)
			declare(w, e->name, SUM, e->n / e->n_count, e->n_count);
	}
}

enum lmd_status lmi_imatrix_write_gguf(const struct lmi_imatrix *m, const char *path,
				       struct lmd_error *err)
{
	struct lmd_str *names = lmi_alloc(m->n_dataset + 1, sizeof(*names));
	struct lmi_gguf_writer *w = NULL;
	enum lmd_status st;

	if (!names)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u names", m->n_dataset);
	st = lmi_gguf_writer_create(&w, 32, err);
	if (st == LMD_OK) {
		put_keys(w, m, names);
		st = lmi_gguf_writer_start(w, path, err);
	}
	lmi_free(names);
	for (uint32_t i = 0; st == LMD_OK && i < m->n_entry; i++) {
		const struct lmi_imatrix_entry *e = &m->entry[i];

		st = lmi_gguf_writer_data(w, e->sum2, e->n * 4, err);
		if (st == LMD_OK)
			st = lmi_gguf_writer_data(w, e->count, e->n_count * 4ull, err);
		if (st == LMD_OK && e->sum)
			st = lmi_gguf_writer_data(w, e->sum, e->n * 4, err);
	}
	if (st == LMD_OK)
		st = lmi_gguf_writer_finish(w, err);
	lmi_gguf_writer_destroy(w);
	return st;
}
