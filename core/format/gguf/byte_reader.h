/* SPDX-License-Identifier: MIT
 *
 * byte_reader.h - sequential reader of numbers and bytes that never reads past the end of the file.
 *
 * It uses a buffer and pread instead of a mapping, so that a file that changes while it is being
 * read causes an error and not a signal. */
#ifndef LLAMAD_CORE_FORMAT_GGUF_BYTE_READER_H
#define LLAMAD_CORE_FORMAT_GGUF_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/file.h"
#include "llamad/status.h"

#define LMI_GGUF_READER_BUF 65536u

struct lmi_model_byte_reader {
	const struct lmi_file *file;
	uint8_t *buf;    /* LMI_GGUF_READER_BUF bytes */
	size_t at, have; /* position and valid bytes in buf */
	uint64_t pos;    /* file offset of the next byte */
	bool big_endian;
	bool narrow;   /* counts and lengths are 32 bits wide (version 1) */
	char what[96]; /* what is being read, for error messages: "key 3" */
};

enum lmd_status lmi_gguf_reader_open(struct lmi_model_byte_reader *r, const struct lmi_file *f,
				     struct lmd_error *err);
void lmi_gguf_reader_close(struct lmi_model_byte_reader *r); /* r may be zeroed */

/* Continues at another offset, which must not exceed the file size. */
void lmi_gguf_reader_seek(struct lmi_model_byte_reader *r, uint64_t pos);

static inline uint64_t lmi_gguf_reader_left(const struct lmi_model_byte_reader *r)
{
	return r->file->bytes - r->pos;
}

/* At the end of the file all of these fail with LMD_CORRUPT and "WHAT: needs N bytes at byte P, but
 * the file ends at S", and consume nothing. */
enum lmd_status lmi_gguf_reader_bytes(struct lmi_model_byte_reader *r, void *dst, uint64_t n,
				      struct lmd_error *err);
enum lmd_status lmi_gguf_reader_u32(struct lmi_model_byte_reader *r, uint32_t *v,
				    struct lmd_error *err);
enum lmd_status lmi_gguf_reader_u64(struct lmi_model_byte_reader *r, uint64_t *v,
				    struct lmd_error *err);
/* Reads a count or length: 32 bits in version 1, else 64 bits. */
enum lmd_status lmi_gguf_reader_count(struct lmi_model_byte_reader *r, uint64_t *v,
				      struct lmd_error *err);

/* Decode numbers in the file's byte order. */
uint16_t lmi_gguf_reader_get16(const struct lmi_model_byte_reader *r, const void *p);
uint32_t lmi_gguf_reader_get32(const struct lmi_model_byte_reader *r, const void *p);
uint64_t lmi_gguf_reader_get64(const struct lmi_model_byte_reader *r, const void *p);

#endif /* LLAMAD_CORE_FORMAT_GGUF_BYTE_READER_H */
