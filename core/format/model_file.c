/* SPDX-License-Identifier: MIT
 *
 * An open model: its view, its files, reads of tensor data by any format. */
#include "core/base/printable.h"
#include "core/format/format.h"
#include "core/format/gguf/gguf.h"
#include "core/model/model.h"
#include "core/quant/quant.h"

const struct lmd_model *lmi_model_view(const struct lmi_model *m)
{
	return &m->view;
}

uint32_t lmi_model_n_files(const struct lmi_model *m)
{
	return m->n_parts - m->has_built_part;
}

void lmi_model_file(const struct lmi_model *m, uint32_t i, struct lmi_model_file *out)
{
	*out = (struct lmi_model_file){
		.path = m->parts[i].path,
		.bytes = m->parts[i].file.bytes,
		.locked = m->parts[i].locked,
		.copied = m->parts[i].map.on_heap && !m->parts[i].built_bytes,
		.mapped =
			m->parts[i].map.ptr && !m->parts[i].map.on_heap && !m->parts[i].built_bytes,
		.built_bytes = m->parts[i].built_bytes,
	};
	if (i == 0 && m->has_built_part)
		out->built_bytes += m->parts[m->n_parts - 1].built_bytes;
}

uint32_t lmi_model_n_memory(const struct lmi_model *m)
{
	return m->n_parts;
}

void lmi_model_memory(const struct lmi_model *m, uint32_t i, struct lmi_model_memory *out)
{
	const struct lmi_model_part *p = &m->parts[i];
	bool mapped = !p->map.on_heap && !p->built_bytes;

	*out = (struct lmi_model_memory){.ptr = p->map.ptr,
					 .bytes = p->map.bytes,
					 .fd = mapped ? p->file.fd : -1,
					 .at = p->map_at};
}

enum lmd_status lmi_model_read(const struct lmi_model *m, const struct lmd_tensor *t, uint64_t at,
			       void *buf, size_t n, struct lmd_error *err)
{
	const struct lmi_model_part *part = &m->parts[t->file];
	enum lmd_status st;
	char show[112];

	if (at > t->bytes || n > t->bytes - at)
		return lmd_fail(err, LMD_INVALID,
				"tensor %s: bytes %llu + %zu are outside of its %llu bytes",
				t->name, (unsigned long long)at, n, (unsigned long long)t->bytes);
	if (m->reader_read)
		return m->reader_read(m->reader_state, (uint32_t)(t - m->tensors), at, buf, n, err);
	st = lmi_file_read(&part->file, t->offset + at, buf, n, err);
	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), part->path));
	else if (part->big_endian && !lmi_gguf_swap(t->dtype, buf, n))
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "tensor %s: data of type %s has no big-endian form", t->name,
			      lmi_dtype(t->dtype)->name);
	return st;
}

void lmi_model_close(struct lmi_model *m)
{
	lmi_model_destroy(m);
}
