/* SPDX-License-Identifier: MIT
 *
 * Splits a model into files and writes them.  The size of a file is the size of its header with an
 * empty table, plus what each tensor adds to table and data. */
#include "core/format/gguf/split_merge.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/quant/quant.h"

#define PIECE_BYTES (1u << 20)

static uint32_t alignment_of(const struct lmd_model *m)
{
	const struct lmd_meta *v = m->find_meta(m, "general.alignment");

	return v ? (uint32_t)v->v.i : 32; /* validated on opening */
}

/* Creates a writer with the keys of file i of n. */
static enum lmd_status begin(struct lmi_gguf_writer **out, const struct lmi_model *model,
			     uint32_t i, uint32_t n, struct lmd_error *err)
{
	const struct lmd_model *m = lmi_model_view(model);
	enum lmd_status st = lmi_gguf_writer_create(out, alignment_of(m), err);

	if (st != LMD_OK)
		return st;
	for (uint32_t k = 0; i == 0 && k < m->n_meta; k++)
		if (strncmp(m->meta[k].key, "split.", 6) != 0)
			lmi_gguf_put_meta(*out, &m->meta[k]);
	if (n > 1) {
		lmi_gguf_put_u16(*out, "split.no", (uint16_t)i);
		lmi_gguf_put_u16(*out, "split.count", (uint16_t)n);
		lmi_gguf_put_i32(*out, "split.tensors.count", (int32_t)m->n_tensors);
	}
	return LMD_OK;
}

/* Size of file i of n before the first entry of its table. */
static enum lmd_status head_bytes(const struct lmi_model *m, uint32_t i, uint32_t n_files,
				  uint64_t *bytes, struct lmd_error *err)
{
	struct lmi_gguf_writer *w;
	const uint8_t *p;
	size_t n = 0;
	enum lmd_status st = begin(&w, m, i, n_files, err);

	if (st != LMD_OK)
		return st;
	st = lmi_gguf_writer_header(w, &p, &n, err);
	*bytes = n;
	lmi_gguf_writer_destroy(w);
	return st;
}

/* Cannot overflow: all sums here are sizes of parts of existing files. */
static uint64_t padded(uint64_t bytes, uint32_t alignment)
{
	return (bytes + alignment - 1) / alignment * alignment;
}

/* Size of the tensor's entry in the table. */
static uint64_t entry_bytes(const struct lmd_tensor *t)
{
	return 8 + strlen(t->name) + 4 + 8ull * t->n_dim + 4 + 8;
}

uint64_t lmi_gguf_part_bytes(const struct lmi_model *m, const struct lmi_gguf_part *part)
{
	return (part->n ? padded(part->head, alignment_of(lmi_model_view(m))) : part->head) +
	       part->data;
}

static enum lmd_status add_part(struct lmi_gguf_parts *p, uint32_t first, uint64_t head,
				struct lmd_error *err)
{
	void *v;

	if (p->n == LMI_GGUF_MAX_PARTS)
		return lmd_fail(err, LMD_INVALID,
				"a set has at most %u files; allow more bytes or tensors per file",
				LMI_GGUF_MAX_PARTS);
	if (!(p->n & (p->n - 1))) { /* the capacity is a power of two */
		v = lmi_realloc(p->v, p->n ? 2 * p->n : 1, sizeof(*p->v));
		if (!v)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u files", p->n + 1);
		p->v = v;
	}
	p->v[p->n++] = (struct lmi_gguf_part){.first = first, .head = head};
	return LMD_OK;
}

/* True if the last file must not take this tensor. */
static bool is_full(const struct lmi_gguf_parts *p, const struct lmi_gguf_split_opts *limits,
		    const struct lmd_tensor *t, uint32_t alignment)
{
	const struct lmi_gguf_part *last = &p->v[p->n - 1];
	uint64_t bytes = padded(last->head + entry_bytes(t), alignment) + last->data +
			 padded(t->bytes, alignment);

	if (limits->keys_only && p->n == 1)
		return true;
	if (limits->max_tensors && last->n == limits->max_tensors)
		return true;
	/* an empty file accepts a tensor of any size, except the first file, which may hold the
	 * keys alone */
	return limits->max_bytes && (last->n || p->n == 1) && bytes > limits->max_bytes;
}

enum lmd_status lmi_gguf_plan_parts(struct lmi_gguf_parts *out, const struct lmi_model *model,
				    const struct lmi_gguf_split_opts *limits, struct lmd_error *err)
{
	const struct lmd_model *m = lmi_model_view(model);
	bool one = !limits->max_bytes && !limits->max_tensors && !limits->keys_only;
	uint32_t alignment = alignment_of(m);
	uint64_t head[2] = {0};
	enum lmd_status st;

	*out = (struct lmi_gguf_parts){0};
	st = head_bytes(model, 0, one ? 1 : 2, &head[0], err);
	if (st == LMD_OK)
		st = head_bytes(model, 1, 2, &head[1], err);
	if (st == LMD_OK)
		st = add_part(out, 0, head[0], err);
	for (uint32_t i = 0; st == LMD_OK && i < m->n_tensors; i++) {
		const struct lmd_tensor *t = &m->tensors[i];

		if (is_full(out, limits, t, alignment))
			st = add_part(out, i, head[1], err);
		if (st != LMD_OK)
			break;
		out->v[out->n - 1].n++;
		out->v[out->n - 1].head += entry_bytes(t);
		out->v[out->n - 1].data += padded(t->bytes, alignment);
	}
	return st;
}

void lmi_gguf_parts_fini(struct lmi_gguf_parts *p)
{
	lmi_free(p->v);
	*p = (struct lmi_gguf_parts){0};
}

/* ---- writing ---- */

struct job {
	const struct lmi_model *m;
	const struct lmi_gguf_parts *parts;
	const struct lmi_gguf_parts_dest *to;
	uint8_t *buf; /* PIECE_BYTES */
	uint64_t done, total;
};

static enum lmd_status copy_tensor(struct job *j, struct lmi_gguf_writer *w,
				   const struct lmd_tensor *t, struct lmd_error *err)
{
	uint32_t block = lmi_dtype(t->dtype)->block_bytes;
	size_t piece = PIECE_BYTES / block * block;

	for (uint64_t at = 0; at < t->bytes;) {
		size_t n = t->bytes - at < piece ? (size_t)(t->bytes - at) : piece;
		enum lmd_status st = lmi_model_read(j->m, t, at, j->buf, n, err);

		if (st == LMD_OK)
			st = lmi_gguf_writer_data(w, j->buf, n, err);
		if (st != LMD_OK)
			return st;
		at += n;
		j->done += n;
		if (j->to->progress && !j->to->progress(j->to->arg, j->done, j->total))
			return lmd_fail(err, LMD_CANCELLED, "cancelled at tensor %s", t->name);
	}
	return LMD_OK;
}

static enum lmd_status write_part(struct job *j, uint32_t i, struct lmd_error *err)
{
	const struct lmd_tensor *tensors = lmi_model_view(j->m)->tensors + j->parts->v[i].first;
	struct lmi_gguf_writer *w;
	enum lmd_status st = begin(&w, j->m, i, j->parts->n, err);

	if (st != LMD_OK)
		return st;
	for (uint32_t k = 0; k < j->parts->v[i].n; k++)
		lmi_gguf_add_tensor(w, tensors[k].name, tensors[k].dtype, tensors[k].n_dim,
				    tensors[k].dims);
	st = lmi_gguf_writer_start(w, j->to->paths[i], err);
	for (uint32_t k = 0; st == LMD_OK && k < j->parts->v[i].n; k++)
		st = copy_tensor(j, w, &tensors[k], err);
	if (st == LMD_OK)
		st = lmi_gguf_writer_finish(w, err);
	lmi_gguf_writer_destroy(w);
	return st;
}

/* An output file must not be one of the input files. */
static enum lmd_status check_paths(const struct job *j, struct lmd_error *err)
{
	char show[112];

	for (uint32_t i = 0; i < j->parts->n; i++) {
		struct stat to, from;

		if (stat(j->to->paths[i], &to))
			continue; /* does not exist; other errors show up when it is opened for
				   * writing */
		for (uint32_t k = 0; k < lmi_model_n_files(j->m); k++) {
			struct lmi_model_file f;

			lmi_model_file(j->m, k, &f);
			if (!stat(f.path, &from) && from.st_dev == to.st_dev &&
			    from.st_ino == to.st_ino)
				return lmd_fail(
					err, LMD_INVALID, "%s: is a file of the source model",
					lmi_printable_path(show, sizeof(show), j->to->paths[i]));
		}
	}
	return LMD_OK;
}

enum lmd_status lmi_gguf_write_parts(const struct lmi_model *m, const struct lmi_gguf_parts *p,
				     const struct lmi_gguf_parts_dest *to, struct lmd_error *err)
{
	struct job j = {.m = m, .parts = p, .to = to};
	const struct lmd_model *view = lmi_model_view(m);
	enum lmd_status st = check_paths(&j, err);

	if (st != LMD_OK)
		return st;
	j.buf = lmi_alloc(PIECE_BYTES, 1);
	if (!j.buf)
		return lmd_fail(err, LMD_NOMEM, "no memory to copy tensors");
	for (uint32_t i = 0; i < view->n_tensors; i++)
		j.total += view->tensors[i].bytes;
	for (uint32_t i = p->n; st == LMD_OK && i-- > 0;)
		st = write_part(&j, i, err);
	lmi_free(j.buf);
	return st;
}

char *lmi_gguf_part_name(const char *prefix, uint32_t i, uint32_t n)
{
	size_t cap = strlen(prefix) + 40;
	char *name = lmi_alloc(cap, 1);

	if (name)
		(void)snprintf(name, cap, "%s-%05u-of-%05u.gguf", prefix, i + 1, n);
	return name;
}
