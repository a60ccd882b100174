/* SPDX-License-Identifier: MIT
 *
 * Buffered reader, limited to the size that the file had when it was opened. */
#include "core/format/gguf/byte_reader.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/cancel.h"

enum lmd_status lmi_gguf_reader_open(struct lmi_model_byte_reader *r, const struct lmi_file *f,
				     struct lmd_error *err)
{
	*r = (struct lmi_model_byte_reader){
		.file = f, .buf = lmi_alloc(LMI_GGUF_READER_BUF, 1), .what = "header"};
	return r->buf ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for a read buffer");
}

void lmi_gguf_reader_close(struct lmi_model_byte_reader *r)
{
	lmi_free(r->buf);
	r->buf = NULL;
}

void lmi_gguf_reader_seek(struct lmi_model_byte_reader *r, uint64_t pos)
{
	r->pos = pos;
	r->at = r->have = 0;
}

/* Reads the next piece of the file into the empty buffer. */
static enum lmd_status fill(struct lmi_model_byte_reader *r, struct lmd_error *err)
{
	uint64_t left = lmi_gguf_reader_left(r);
	size_t n = left < LMI_GGUF_READER_BUF ? (size_t)left : LMI_GGUF_READER_BUF;
	enum lmd_status st = lmi_file_read(r->file, r->pos, r->buf, n, err);

	/* what is done with the bytes takes longer than reading them */
	if (st == LMD_OK && !lmi_cancel_step(n))
		st = lmd_fail(err, LMD_CANCELLED, "%s: cancelled", r->what);
	r->at = 0;
	r->have = st == LMD_OK ? n : 0;
	return st;
}

enum lmd_status lmi_gguf_reader_bytes(struct lmi_model_byte_reader *r, void *dst, uint64_t n,
				      struct lmd_error *err)
{
	uint8_t *p = dst;

	if (n > lmi_gguf_reader_left(r))
		return lmd_fail(err, LMD_CORRUPT,
				"%s: needs %llu bytes at byte %llu, but the file ends at %llu",
				r->what,
				(unsigned long long)n, (unsigned long long)r->pos,
				(unsigned long long)r->file->bytes);
	while (n) {
		enum lmd_status st = r->at == r->have ? fill(r, err) : LMD_OK;
		size_t k = r->have - r->at;

		if (st != LMD_OK)
			return st;
		k = n < k ? (size_t)n : k;
		memcpy(p, r->buf + r->at, k);
		p += k;
		r->at += k;
		r->pos += k;
		n -= k;
	}
	return LMD_OK;
}

uint16_t lmi_gguf_reader_get16(const struct lmi_model_byte_reader *r, const void *p)
{
	return r->big_endian ? lmi_get_be16(p) : lmi_get_le16(p);
}

uint32_t lmi_gguf_reader_get32(const struct lmi_model_byte_reader *r, const void *p)
{
	return r->big_endian ? lmi_get_be32(p) : lmi_get_le32(p);
}

uint64_t lmi_gguf_reader_get64(const struct lmi_model_byte_reader *r, const void *p)
{
	return r->big_endian ? lmi_get_be64(p) : lmi_get_le64(p);
}

enum lmd_status lmi_gguf_reader_u32(struct lmi_model_byte_reader *r, uint32_t *v,
				    struct lmd_error *err)
{
	uint8_t b[4];
	enum lmd_status st = lmi_gguf_reader_bytes(r, b, sizeof(b), err);

	if (st == LMD_OK)
		*v = lmi_gguf_reader_get32(r, b);
	return st;
}

enum lmd_status lmi_gguf_reader_u64(struct lmi_model_byte_reader *r, uint64_t *v,
				    struct lmd_error *err)
{
	uint8_t b[8];
	enum lmd_status st = lmi_gguf_reader_bytes(r, b, sizeof(b), err);

	if (st == LMD_OK)
		*v = lmi_gguf_reader_get64(r, b);
	return st;
}

enum lmd_status lmi_gguf_reader_count(struct lmi_model_byte_reader *r, uint64_t *v,
				      struct lmd_error *err)
{
	uint32_t narrow;
	enum lmd_status st;

	if (!r->narrow)
		return lmi_gguf_reader_u64(r, v, err);
	st = lmi_gguf_reader_u32(r, &narrow, err);
	if (st == LMD_OK)
		*v = narrow;
	return st;
}
