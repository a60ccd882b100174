/* SPDX-License-Identifier: MIT
 *
 * From a path to a model: finds out the format by the first bytes and hands over. */
#include <string.h>

#include "core/base/show.h"
#include "core/format/format.h"
#include "core/format/gguf/gguf.h"
#include "core/quant/quant.h"

#define MIN_BYTES 24u /* of the shortest container */
#define ALL_FLAGS (LMI_OPEN_HEADER_ONLY | LMI_OPEN_NO_MMAP | LMI_OPEN_MLOCK)

static enum lmd_status check_magic(const struct lmi_file *f, const char *path,
				   struct lmd_error *err)
{
	char magic[4], show[112], found[24];
	enum lmd_status st;

	lmi_show_path(show, sizeof(show), path);
	if (f->bytes < MIN_BYTES)
		return lmd_fail(err, LMD_CORRUPT, "%s: %llu bytes, a model file has at least %u",
				show, (unsigned long long)f->bytes, MIN_BYTES);
	st = lmi_file_read(f, 0, magic, sizeof(magic), err);
	if (st != LMD_OK)
		lmd_error_prefix(err, show);
	else if (memcmp(magic, "GGUF", 4) != 0)
		st = lmd_fail(err, LMD_UNSUPPORTED, "%s: begins with \"%s\", not \"GGUF\"", show,
			      lmi_show(found, sizeof(found), magic, sizeof(magic)));
	return st;
}

enum lmd_status lmi_model_open(struct lmi_model **out, const char *path, uint32_t flags,
			       struct lmd_error *err)
{
	struct lmi_model *m;
	struct lmi_file f;
	enum lmd_status st;

	if (flags & ~ALL_FLAGS)
		return lmd_fail(err, LMD_INVALID, "open flags 0x%x, known are 0x%x", flags,
				ALL_FLAGS);
	st = lmi_file_open(&f, path, err);
	if (st != LMD_OK)
		return st;
	st = check_magic(&f, path, err);
	if (st != LMD_OK) {
		lmi_file_close(&f);
		return st;
	}
	m = lmi_model_create(LMI_MODEL_HEAP_BYTES);
	if (!m) {
		lmi_file_close(&f);
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a model", path);
	}
	st = lmi_gguf_open(m, path, &f, flags, err);
	if (st != LMD_OK) {
		lmi_model_destroy(m);
		return st;
	}
	*out = m;
	return LMD_OK;
}

const struct lmd_model *lmi_model_view(const struct lmi_model *m)
{
	return &m->view;
}

uint32_t lmi_model_n_files(const struct lmi_model *m)
{
	return m->n_parts;
}

void lmi_model_file(const struct lmi_model *m, uint32_t i, struct lmi_model_file *out)
{
	*out = (struct lmi_model_file){
		.path = m->parts[i].path,
		.bytes = m->parts[i].file.bytes,
		.locked = m->parts[i].locked,
	};
}

enum lmd_status lmi_model_read(const struct lmi_model *m, const struct lmd_tensor *t, uint64_t at,
			       void *buf, size_t n, struct lmd_error *err)
{
	const struct lmi_model_part *part = &m->parts[t->file];
	enum lmd_status st;
	char show[112];

	if (at > t->bytes || n > t->bytes - at)
		return lmd_fail(err, LMD_INVALID, "tensor %s: bytes %llu + %zu of %llu", t->name,
				(unsigned long long)at, n, (unsigned long long)t->bytes);
	st = lmi_file_read(&part->file, t->offset + at, buf, n, err);
	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_show_path(show, sizeof(show), part->path));
	else if (part->big_endian && !lmi_gguf_swap(t->dtype, buf, n))
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "tensor %s: big-endian data of type %s, which has no such form",
			      t->name, lmi_dtype(t->dtype)->name);
	return st;
}

void lmi_model_close(struct lmi_model *m)
{
	lmi_model_destroy(m);
}
