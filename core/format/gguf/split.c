/* SPDX-License-Identifier: MIT
 *
 * Opens a single file or a set NAME-00001-of-0000N.gguf by running the layers in order.  The keys
 * come from the first part; later parts contribute tensors, and their split.* keys must match the
 * set.  Data is mapped last, when everything else has been checked. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/printable.h"
#include "core/format/format.h"
#include "core/format/gguf/gguf.h"
#include "core/format/part_load.h"
#include "core/quant/quant.h"

#define PART_HEAP_BYTES (16ull << 20) /* limit for the keys of a later part */

/* Kept for each part from reading its keys to reading its tensor table. */
struct part {
	struct lmi_gguf_header h;
	struct lmi_gguf_file_props props;
	uint64_t table_at, data_at;
	bool big_endian;
};

/* Prepends the part's path to the error message. */
static enum lmd_status in_file(const struct lmi_model *m, uint32_t i, enum lmd_status st,
			       struct lmd_error *err)
{
	char show[112];

	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), m->parts[i].path));
	return st;
}

/* Reads header and keys of one file into `keys`. */
static enum lmd_status read_front(struct lmi_model *keys, const struct lmi_file *f, struct part *p,
				  struct lmd_error *err)
{
	struct lmi_model_byte_reader r;
	enum lmd_status st = lmi_gguf_reader_open(&r, f, err);

	if (st == LMD_OK)
		st = lmi_gguf_read_header(&r, &p->h, err);
	if (st == LMD_OK)
		st = lmi_model_reserve_meta(keys, p->h.n_keys, err);
	if (st == LMD_OK)
		st = lmi_gguf_read_meta(&r, p->h.n_keys, keys, err);
	if (st == LMD_OK)
		st = lmi_gguf_read_file_props(keys, &p->props, err);
	p->table_at = r.pos;
	p->big_endian = r.big_endian;
	lmi_gguf_reader_close(&r);
	return st;
}

static enum lmd_status read_table(struct lmi_model *m, uint32_t i, struct part *p,
				  struct lmd_error *err)
{
	struct lmi_model_byte_reader r;
	enum lmd_status st = lmi_gguf_reader_open(&r, &m->parts[i].file, err);

	if (st == LMD_OK) {
		r.big_endian = p->big_endian;
		r.narrow = p->h.version == 1;
		lmi_gguf_reader_seek(&r, p->table_at);
		st = lmi_gguf_read_tensors(&r, p->h.n_tensors, p->props.alignment, i, m,
					   &p->data_at, err);
	}
	lmi_gguf_reader_close(&r);
	return st;
}

/* The end of a part's file name. */
static void suffix_of(char buf[32], uint32_t i, uint32_t n)
{
	(void)snprintf(buf, 32, "-%05u-of-%05u.gguf", i + 1, n);
}

/* Derives the path of part i from that of the first part. */
static enum lmd_status part_path(struct lmi_model *m, uint32_t i, struct lmd_error *err)
{
	char suffix[32];
	size_t stem = strlen(m->parts[0].path);

	suffix_of(suffix, i, m->n_parts);
	stem -= m->n_set_paths ? 0 : strlen(suffix); /* check_first() found one of this length */
	m->parts[i].path =
		m->n_set_paths
			? lmi_arena_strndup(m->arena, m->set_paths[i], strlen(m->set_paths[i]))
			: lmi_arena_printf(m->arena, "%.*s%s", (int)stem, m->parts[0].path, suffix);
	return m->parts[i].path ? LMD_OK : lmi_model_no_memory(m, stem + sizeof(suffix), err);
}

static enum lmd_status check_first(const struct lmi_model *m, const struct part *p,
				   struct lmd_error *err)
{
	size_t len = strlen(m->parts[0].path), n;
	char suffix[32];

	suffix_of(suffix, 0, p->props.split_count);
	n = strlen(suffix);
	if (p->props.split_no != 0)
		return lmd_fail(err, LMD_INVALID,
				"is part %u of %u: open the first part, whose name ends in %s",
				p->props.split_no + 1, p->props.split_count, suffix);
	if (m->n_set_paths && m->n_set_paths != p->props.split_count)
		return lmd_fail(err, LMD_INVALID, "key split.count: %u, but the set has %u files",
				p->props.split_count, m->n_set_paths);
	if (m->n_set_paths)
		return LMD_OK;
	if (len <= n || strcmp(m->parts[0].path + len - n, suffix) != 0)
		return lmd_fail(err, LMD_INVALID,
				"key split.count: %u, but the file name does not end in %s",
				p->props.split_count, suffix);
	return LMD_OK;
}

/* Opens part i > 0 and reads its keys. */
static enum lmd_status open_later(struct lmi_model *m, uint32_t i, struct part *p,
				  struct lmd_error *err)
{
	struct lmi_model *keys;
	enum lmd_status st = part_path(m, i, err);

	if (st == LMD_OK)
		st = lmi_file_open(&m->parts[i].file, m->parts[i].path, err);
	if (st != LMD_OK)
		return st;
	keys = lmi_model_create(PART_HEAP_BYTES);
	if (!keys)
		return lmd_fail(err, LMD_NOMEM, "no memory for the keys of part %u", i + 1);
	st = read_front(keys, &m->parts[i].file, p, err);
	lmi_model_destroy(keys);
	if (st == LMD_OK && (p->props.split_no != i || p->props.split_count != m->n_parts))
		st = lmd_fail(err, LMD_CORRUPT,
			      "keys split.no %u and split.count %u, expected %u and %u",
			      p->props.split_no, p->props.split_count, i, m->n_parts);
	return in_file(m, i, st, err);
}

/* Reads all tensor tables; the keys of all parts have been read. */
static enum lmd_status read_tables(struct lmi_model *m, struct part *p, struct lmd_error *err)
{
	int64_t expected = p[0].props.split_tensors;
	enum lmd_status st = LMD_OK;
	uint64_t n = 0;

	for (uint32_t i = 0; i < m->n_parts; i++)
		n += p[i].h.n_tensors;
	if (n > LMI_MODEL_MAX_TENSORS)
		st = lmd_fail(err, LMD_INVALID, "%llu tensors, must be at most %u",
			      (unsigned long long)n, LMI_MODEL_MAX_TENSORS);
	else if (m->n_parts > 1 && expected >= 0 && (uint64_t)expected != n)
		st = lmd_fail(err, LMD_CORRUPT,
			      "key split.tensors.count: %lld, but the parts have %llu",
			      (long long)expected,
			      (unsigned long long)n);
	else
		st = lmi_model_reserve_tensors(m, (uint32_t)n, err);
	in_file(m, 0, st, err);
	for (uint32_t i = 0; st == LMD_OK && i < m->n_parts; i++)
		st = in_file(m, i, read_table(m, i, &p[i], err), err);
	return st;
}

/* Swaps the data of a big-endian file, which has been copied to memory. */
static enum lmd_status swap_part(struct lmi_model *m, uint32_t i, struct lmd_error *err)
{
	struct lmi_model_part *part = &m->parts[i];
	char show[80];

	for (uint32_t k = 0; k < m->view.n_tensors; k++) {
		const struct lmd_tensor *t = &m->tensors[k];
		uint8_t *data = (uint8_t *)(uintptr_t)part->map.ptr + (t->offset - part->map_at);

		if (t->file == i && !lmi_gguf_swap(t->dtype, data, t->bytes))
			return lmd_fail(err, LMD_UNSUPPORTED,
					"tensor %s: data of type %s has no big-endian form",
					lmi_printable(show, sizeof(show), t->name, strlen(t->name)),
					lmi_dtype(t->dtype)->name);
	}
	return LMD_OK;
}

static enum lmd_status map_part(struct lmi_model *m, uint32_t i, const struct part *p,
				uint32_t flags, struct lmd_error *err)
{
	enum lmd_status st;

	if (!p->h.n_tensors)
		return LMD_OK;
	st = lmi_model_load_part(m, i, p->data_at, p->big_endian, flags, err);
	return st == LMD_OK && p->big_endian ? swap_part(m, i, err) : st;
}

static enum lmd_status map_all(struct lmi_model *m, const struct part *p, uint32_t flags,
			       struct lmd_error *err)
{
	uint64_t copied = 0;
	enum lmd_status st;

	for (uint32_t i = 0; i < m->n_parts; i++)
		if (p[i].big_endian || (flags & (LMI_OPEN_NO_MMAP | LMI_OPEN_DIRECT)))
			copied += m->parts[i].file.bytes;
	st = in_file(m, 0, lmi_model_load_begin(m, copied, flags, err), err);
	for (uint32_t i = 0; st == LMD_OK && i < m->n_parts; i++)
		st = in_file(m, i, map_part(m, i, &p[i], flags, err), err);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < m->view.n_tensors; i++) {
		struct lmd_tensor *t = &m->tensors[i];
		const struct lmi_model_part *part = &m->parts[t->file];

		t->data = part->map.ptr + (t->offset - part->map_at);
	}
	return LMD_OK;
}

/* Does everything except reading the first part's header and keys, which has been done. */
static enum lmd_status open_rest(struct lmi_model *m, struct part *p, uint32_t flags,
				 struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 1; st == LMD_OK && i < m->n_parts; i++)
		st = open_later(m, i, &p[i], err);
	if (st == LMD_OK)
		st = read_tables(m, p, err);
	for (uint32_t i = 0; i < m->n_parts; i++)
		m->parts[i].big_endian = p[i].big_endian;
	if (st == LMD_OK)
		st = in_file(m, 0, lmi_model_check_general(m, m->parts[0].path, err), err);
	if (st == LMD_OK)
		st = in_file(m, 0, lmi_model_read_tokspec(m, err), err);
	if (st == LMD_OK && !(flags & LMI_OPEN_HEADER_ONLY))
		st = map_all(m, p, flags, err);
	return st;
}

enum lmd_status lmi_gguf_open(struct lmi_model *m, const char *path, struct lmi_file *own_file,
			      uint32_t flags, struct lmd_error *err)
{
	struct part first, *p;
	enum lmd_status st = lmi_model_reserve_parts(m, 1, err);

	if (st != LMD_OK) {
		lmi_file_close(own_file);
		return st;
	}
	m->parts[0].file = *own_file;
	m->parts[0].path = lmi_arena_strndup(m->arena, path, strlen(path));
	if (!m->parts[0].path)
		return lmi_model_no_memory(m, strlen(path) + 1, err);
	st = read_front(m, &m->parts[0].file, &first, err);
	if (st == LMD_OK && first.props.has_split) {
		st = check_first(m, &first, err);
		if (st == LMD_OK)
			st = lmi_model_reserve_parts(m, first.props.split_count, err);
	}
	if (st != LMD_OK)
		return in_file(m, 0, st, err);
	m->view.format = lmi_arena_printf(m->arena, "gguf v%u%s", first.h.version,
					  first.big_endian ? " big-endian" : "");
	p = lmi_alloc(m->n_parts, sizeof(*p));
	if (p && m->view.format) {
		p[0] = first;
		st = open_rest(m, p, flags, err);
	} else {
		st = lmd_fail(err, LMD_NOMEM, "no memory for a set of %u files", m->n_parts);
	}
	lmi_free(p);
	return st;
}
