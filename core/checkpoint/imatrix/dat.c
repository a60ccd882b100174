/* SPDX-License-Identifier: MIT
 *
 * Reads and writes the older format.  All numbers are 32 bits, little-endian: the number of
 * entries; for each entry the length of its name, the name, the number of calls, the number of
 * values, the values as floats; after them, in files of later programs, the calls of the whole run,
 * and length and name of the data set.  A value is the mean square times the calls, so one call
 * stands for one chunk. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/format/gguf/byte_reader.h"
#include "core/checkpoint/imatrix/imatrix.h"

#define NAME_MAX_BYTES 4096u

static enum lmd_status read_name(struct lmi_model_byte_reader *r, char **out, struct lmd_error *err)
{
	uint32_t n;
	char *s;
	enum lmd_status st = lmi_gguf_reader_u32(r, &n, err);

	if (st != LMD_OK)
		return st;
	if (n > NAME_MAX_BYTES)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: name of %u bytes, must be at most %u", r->what, n,
				NAME_MAX_BYTES);
	s = lmi_alloc(n + 1, 1);
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "no memory for a name");
	st = lmi_gguf_reader_bytes(r, s, n, err);
	if (st == LMD_OK && strlen(s) != n)
		st = lmd_fail(err, LMD_CORRUPT, "%s: the name contains a zero byte", r->what);
	if (st == LMD_OK)
		*out = s;
	else
		lmi_free(s);
	return st;
}

static enum lmd_status read_values(struct lmi_imatrix *m, struct lmi_model_byte_reader *r,
				   const char *name, struct lmd_error *err)
{
	uint32_t calls, n;
	float count, *v;
	enum lmd_status st = lmi_gguf_reader_u32(r, &calls, err);

	if (st == LMD_OK)
		st = lmi_gguf_reader_u32(r, &n, err);
	if (st != LMD_OK)
		return st;
	if (calls > INT32_MAX || n < 1 || n > lmi_gguf_reader_left(r) / 4)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: %u values of %u calls, but only %llu bytes are left in the "
				"file",
				r->what, n, calls, (unsigned long long)lmi_gguf_reader_left(r));
	v = lmi_alloc(n, sizeof(*v));
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for %u values", r->what, n);
	st = lmi_gguf_reader_bytes(r, v, 4ull * n, err);
	for (uint32_t i = 0; st == LMD_OK && i < n; i++)
		v[i] = lmi_bits_f32(lmi_get_le32(&v[i])) * (float)m->chunk_tokens;
	count = (float)calls * (float)m->chunk_tokens;
	if (st == LMD_OK)
		st = lmi_imatrix_add(m, name, n, 1, v, NULL, &count, err);
	lmi_free(v);
	return st;
}

/* Reads what later programs append; it may be absent but not incomplete. */
static enum lmd_status read_tail(struct lmi_imatrix *m, struct lmi_model_byte_reader *r,
				 struct lmd_error *err)
{
	char *name = NULL;
	uint32_t calls;
	enum lmd_status st;

	if (lmi_gguf_reader_left(r) < 4)
		return LMD_OK;
	st = lmi_gguf_reader_u32(r, &calls, err);
	if (st == LMD_OK && calls <= INT32_MAX && calls <= UINT32_MAX - m->n_chunk)
		m->n_chunk += calls;
	if (st != LMD_OK || lmi_gguf_reader_left(r) < 4)
		return st;
	st = read_name(r, &name, err);
	if (st == LMD_OK && *name)
		st = lmi_imatrix_add_dataset(m, name, strlen(name), err);
	lmi_free(name);
	return st;
}

enum lmd_status lmi_imatrix_read_dat(struct lmi_imatrix *m, const struct lmi_file *f,
				     struct lmd_error *err)
{
	struct lmi_model_byte_reader r = {0};
	uint32_t n = 0;
	enum lmd_status st = lmi_gguf_reader_open(&r, f, err);

	(void)snprintf(r.what, sizeof(r.what), "number of entries");
	if (st == LMD_OK)
		st = lmi_gguf_reader_u32(&r, &n, err);
	if (st == LMD_OK && (n < 1 || n > LMI_IMATRIX_ENTRIES || n > lmi_gguf_reader_left(&r) / 16))
		st = lmd_fail(err, LMD_CORRUPT,
			      "%u entries in %llu bytes: the file is neither GGUF nor an "
			      "importance matrix", n,
			      (unsigned long long)f->bytes);
	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		char *name = NULL;

		(void)snprintf(r.what, sizeof(r.what), "entry %u", i);
		st = read_name(&r, &name, err);
		if (st == LMD_OK)
			st = read_values(m, &r, name, err);
		lmi_free(name);
	}
	(void)snprintf(r.what, sizeof(r.what), "end of the file");
	if (st == LMD_OK)
		st = read_tail(m, &r, err);
	lmi_gguf_reader_close(&r);
	return st;
}

/* ---- writing ---- */

struct out {
	struct lmi_new_file f;
	enum lmd_status st;
	struct lmd_error *err;
};

static void put(struct out *o, const void *p, size_t n)
{
	if (o->st == LMD_OK && n)
		o->st = lmi_new_file_write(&o->f, p, n, o->err);
}

static void put32(struct out *o, uint32_t v)
{
	uint8_t p[4];

	lmi_put_le32(p, v);
	put(o, p, sizeof(p));
}

static void put_text(struct out *o, const char *s)
{
	put32(o, (uint32_t)strlen(s));
	put(o, s, strlen(s));
}

static float max_count(const struct lmi_imatrix_entry *e)
{
	float top = 0;

	for (uint32_t i = 0; i < e->n_count; i++)
		top = fmaxf(top, e->count[i]);
	return top;
}

static void put_entry(struct out *o, const struct lmi_imatrix *m,
		      const struct lmi_imatrix_entry *e)
{
	/* rounded up, because 0 calls would mean that the entry was never used */
	uint32_t calls = (uint32_t)fminf(ceilf(max_count(e) / (float)m->chunk_tokens), 0x1p30f);
	uint8_t *v = lmi_alloc((size_t)e->n, 4);
	float *mean = lmi_alloc((size_t)e->n, sizeof(*mean));

	if (v && mean) {
		lmi_imatrix_means(e, mean);
		for (uint64_t i = 0; i < e->n; i++)
			lmi_put_le32(v + 4 * i, lmi_f32_bits(mean[i] * (float)calls));
		put_text(o, e->name);
		put32(o, calls);
		put32(o, (uint32_t)e->n);
		put(o, v, (size_t)e->n * 4);
	} else if (o->st == LMD_OK) {
		o->st = lmd_fail(o->err, LMD_NOMEM, "entry %.80s: no memory for %llu values",
				 e->name, (unsigned long long)e->n);
	}
	lmi_free(v);
	lmi_free(mean);
}

enum lmd_status lmi_imatrix_write_dat(const struct lmi_imatrix *m, const char *path,
				      struct lmd_error *err)
{
	struct out o = {.err = err};
	uint32_t n = 0;

	o.st = lmi_new_file_open(&o.f, path, 0644, err);
	if (o.st != LMD_OK)
		return o.st;
	for (uint32_t i = 0; i < m->n_entry; i++)
		n += max_count(&m->entry[i]) > 0;
	put32(&o, n);
	for (uint32_t i = 0; i < m->n_entry; i++)
		if (max_count(&m->entry[i]) > 0)
			put_entry(&o, m, &m->entry[i]);
	put32(&o, m->n_chunk);
	put_text(&o, m->n_dataset ? m->dataset[m->n_dataset - 1] : "");
	if (o.st == LMD_OK)
		return lmi_new_file_commit(&o.f, err);
	lmi_new_file_abort(&o.f);
	return o.st;
}
