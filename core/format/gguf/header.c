/* SPDX-License-Identifier: MIT
 *
 * Reads the file header: magic, version, two counts. */
#include <string.h>

#include "core/base/show.h"
#include "core/format/gguf/gguf.h"

/* The least number of bytes that one key takes: length of the name, one byte of name, its
 * fields. */
static uint64_t min_key_bytes(const struct lmi_reader *r)
{
	return (r->narrow ? 4 : 8) + 1 + 4 + 1;
}

static uint64_t min_tensor_bytes(const struct lmi_reader *r)
{
	return (r->narrow ? 4 : 8) + 1 + 4 + 4 + 8;
}

static enum lmd_status check_count(const struct lmi_reader *r, const char *what, uint64_t n,
				   uint64_t min_bytes, uint32_t cap, struct lmd_error *err)
{
	if (n > cap)
		return lmd_fail(err, LMD_INVALID, "header: %s %lld, must be 0..%u", what,
				(long long)n, cap);
	if (n > lmi_reader_left(r) / min_bytes)
		return lmd_fail(err, LMD_CORRUPT,
				"header: %s %llu, but the remaining %llu bytes hold at most %llu",
				what,
				(unsigned long long)n, (unsigned long long)lmi_reader_left(r),
				(unsigned long long)(lmi_reader_left(r) / min_bytes));
	return LMD_OK;
}

static enum lmd_status read_version(struct lmi_reader *r, uint32_t *version, struct lmd_error *err)
{
	enum lmd_status st = lmi_reader_u32(r, version, err);

	if (st != LMD_OK)
		return st;
	if (*version == 0x03000000u) { /* 3 in the other byte order */
		r->big_endian = true;
		*version = 3;
	}
	if (*version < 1 || *version > 3)
		return lmd_fail(err, LMD_UNSUPPORTED, "header: version %u, must be 1, 2 or 3",
				*version);
	r->narrow = *version == 1;
	return LMD_OK;
}

enum lmd_status lmi_gguf_read_header(struct lmi_reader *r, struct lmi_gguf_header *h,
				     struct lmd_error *err)
{
	uint64_t n_tensors = 0, n_keys = 0;
	char magic[4], show[24];
	enum lmd_status st = lmi_reader_bytes(r, magic, sizeof(magic), err);

	if (st != LMD_OK)
		return st;
	if (memcmp(magic, "GGUF", 4) != 0)
		return lmd_fail(err, LMD_INVALID, "header: starts with \"%s\", not \"GGUF\"",
				lmi_show(show, sizeof(show), magic, sizeof(magic)));
	st = read_version(r, &h->version, err);
	if (st == LMD_OK)
		st = lmi_reader_count(r, &n_tensors, err);
	if (st == LMD_OK)
		st = lmi_reader_count(r, &n_keys, err);
	if (st == LMD_OK)
		st = check_count(r, "tensor count", n_tensors, min_tensor_bytes(r), LMI_MAX_TENSORS,
				 err);
	if (st == LMD_OK)
		st = check_count(r, "key count", n_keys, min_key_bytes(r), LMI_MAX_KEYS, err);
	h->n_tensors = (uint32_t)n_tensors;
	h->n_keys = (uint32_t)n_keys;
	return st;
}
