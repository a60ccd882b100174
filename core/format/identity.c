/* SPDX-License-Identifier: MIT
 *
 * The source's data is not read: a file with the same inode, size and modification time is assumed
 * to be unchanged, as in make(1).  A program whose encoders produce different bytes is detected by
 * encoding synthetic values, so that there is no version number to maintain. */
#include "core/format/identity.h"

#include <string.h>
#include <sys/stat.h>

#include "core/base/bytes.h"
#include "core/base/show.h"
#include "core/quant/quant.h"

#define SAMPLE	    512 /* values; whole blocks of every type */
#define SAMPLE_MOST (SAMPLE * 8)

void lmi_identity_u64(struct lmi_sha256 *h, uint64_t v)
{
	uint8_t b[8];

	lmi_put_le64(b, v);
	lmi_sha256_update(h, b, sizeof(b));
}

static enum lmd_status add_file(struct lmi_sha256 *h, const char *path, struct lmd_error *err)
{
	char show[112];
	struct stat sb;

	if (stat(path, &sb) < 0)
		return lmd_fail(err, LMD_IO, "%s: no longer exists",
				lmi_show_path(show, sizeof(show), path));
	lmi_identity_u64(h, (uint64_t)sb.st_dev);
	lmi_identity_u64(h, (uint64_t)sb.st_ino);
	lmi_identity_u64(h, (uint64_t)sb.st_size);
	lmi_identity_u64(h, (uint64_t)sb.st_mtim.tv_sec);
	lmi_identity_u64(h, (uint64_t)sb.st_mtim.tv_nsec);
	return LMD_OK;
}

/* Fills x with values between -1 and 1, most of them small, from a linear congruential
 * generator. */
static void make_sample(float *x, float *w)
{
	uint32_t r = 1;

	for (int i = 0; i < SAMPLE; i++) {
		float v;

		r = r * 1664525u + 1013904223u;
		v = (float)(int32_t)r * 0x1p-31f;
		x[i] = v * v * v;
		w[i] = (float)(1 + (r >> 8 & 63));
	}
}

void lmi_identity_encoder(struct lmi_sha256 *h, enum lmd_dtype type)
{
	const struct lmi_dtype *t = lmi_dtype(type);
	uint8_t out[SAMPLE_MOST];
	float x[SAMPLE], w[SAMPLE];
	size_t n = SAMPLE / t->block_elems * t->block_bytes + t->row_bytes_extra;

	make_sample(x, w);
	for (int weighted = 0; weighted < 2; weighted++) {
		memset(out, 0, n);
		t->quant(x, out, SAMPLE, weighted ? w : NULL);
		lmi_sha256_update(h, out, n);
	}
}

enum lmd_status lmi_identity_files(struct lmi_sha256 *h, const struct lmi_model *m,
				   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmi_model_file f;

	for (uint32_t i = 0; st == LMD_OK && i < lmi_model_n_files(m); i++) {
		lmi_model_file(m, i, &f);
		st = add_file(h, f.path, err);
	}
	return st;
}
