/* SPDX-License-Identifier: MIT
 *
 * Checks and copies the pictures of commands, and finds their rows and positions. */
#include "core/engine/picture.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/engine/tower.h"

/* ---- checks ---- */

static enum lmd_status check_one(const struct lmi_inst *inst, const struct lmi_engine_picture *p,
				 uint32_t from, uint32_t n_tokens, uint32_t i, struct lmd_error *err)
{
	if (p->first < from || !p->n || p->n > n_tokens || p->first > n_tokens - p->n)
		return lmd_fail(err, LMD_INVALID,
				"picture %u has %u rows from %u on, must lie in [%u, %u)", i, p->n,
				p->first, from, n_tokens);
	if (!p->rows && !inst->tower)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%.80s cannot read pictures: it has no vision tower (mmproj)",
				inst->model->name);
	if (!p->rows && (!p->patches || p->n != lmi_engine_tower_rows(inst->tower, p->patches_w,
								      p->patches_h)))
		return lmd_fail(err, LMD_INVALID,
				"picture %u of %u x %u patches has %u rows, but the tower makes %u", i,
				p->patches_w, p->patches_h, p->n,
				lmi_engine_tower_rows(inst->tower, p->patches_w, p->patches_h));
	if (p->rows && p->width != inst->desc.n_input_embd)
		return lmd_fail(err, LMD_INVALID,
				"picture %u has rows of %u numbers, but the model takes %u", i, p->width,
				inst->desc.n_input_embd);
	if ((p->grid_w || p->grid_h) && (uint64_t)p->grid_w * p->grid_h != p->n)
		return lmd_fail(err, LMD_INVALID, "picture %u has %u rows in a grid of %u x %u", i,
				p->n, p->grid_w, p->grid_h);
	for (uint32_t g = 0; p->both_ways && g < inst->desc.n_group; g++) {
		const struct lmd_group *d = &inst->desc.groups[g];

		if (d->kind != LMD_GROUP_PAGED || d->ratio > 1 || d->chunk ||
		    (d->window && d->window < p->n))
			return lmd_fail(err, LMD_UNSUPPORTED,
					"picture %u: its %u rows cannot see each other in the "
					"attention %s of architecture %s",
					i, p->n, d->name, inst->model->arch);
	}
	return LMD_OK;
}

enum lmd_status lmi_engine_pictures_check(const struct lmi_inst *inst,
					  const struct lmi_engine_input_seq *in,
					  struct lmd_error *err)
{
	uint32_t from = 0;

	if (!in->n_pictures)
		return LMD_OK;
	if (in->n_pictures > LMI_ENGINE_MAX_PICTURE)
		return lmd_fail(err, LMD_INVALID, "%u pictures, the maximum is %u", in->n_pictures,
				LMI_ENGINE_MAX_PICTURE);
	if (!inst->desc.n_input_embd || inst->desc.traits & LMD_TRAIT_NO_MIX ||
	    inst->desc.driver != LMD_DRIVER_AUTOREGRESSIVE || inst->looks_ahead)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"architecture %s takes no pictures between the tokens of a sequence",
				inst->model->arch);
	if (in->n_plane)
		return lmd_fail(err, LMD_INVALID,
				"%u lists of positions: a sequence with pictures numbers its rows itself",
				in->n_plane);
	for (uint32_t i = 0; i < in->n_pictures; i++) {
		enum lmd_status st =
			check_one(inst, &in->pictures[i], from, in->n_tokens, i, err);

		if (st != LMD_OK)
			return st;
		from = in->pictures[i].first + in->pictures[i].n;
	}
	return LMD_OK;
}

/* ---- copies ---- */

/* Returns the bytes that it consists of: of rows or patches. */
static size_t bytes_of(const struct lmi_inst *inst, const struct lmi_engine_picture *p)
{
	return p->rows ? (size_t)p->n * p->width * sizeof(*p->rows)
		       : (size_t)p->patches_w * p->patches_h *
				 lmi_engine_tower_inst(inst->tower)->desc.n_input_embd;
}

bool lmi_engine_picture_digest_of(const struct lmi_inst *inst, const struct lmi_engine_picture *p,
				  uint8_t out[LMI_SHA256_BYTES])
{
	const uint32_t head[] = {p->n,	    p->rows ? p->width : 0, p->grid_w, p->grid_h, p->both_ways,
				 p->patches_w, p->patches_h};
	struct lmi_sha256 h = {0};

	if (p->digest) {
		memcpy(out, p->digest, LMI_SHA256_BYTES);
		return true;
	}
	if (!lmi_sha256_init(&h))
		return false;
	lmi_sha256_update(&h, head, sizeof(head));
	if (!p->rows)
		lmi_sha256_update(&h, lmi_engine_tower_digest(inst->tower), LMI_SHA256_BYTES);
	lmi_sha256_update(&h, p->rows ? (const void *)p->rows : p->patches, bytes_of(inst, p));
	return lmi_sha256_final(&h, out);
}

/* Writes the numbers of its rows: digests of its digest and a counter, 8 rows each. */
static bool number_rows(const struct lmi_engine_seq_picture *p, lmd_token *tokens)
{
	uint8_t in[LMI_SHA256_BYTES + 4], out[LMI_SHA256_BYTES] = {0};

	memcpy(in, p->digest, LMI_SHA256_BYTES);
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t at = i % (LMI_SHA256_BYTES / 4);
		struct lmi_sha256 h = {0};

		if (!at) {
			lmi_put_le32(in + LMI_SHA256_BYTES, i);
			if (!lmi_sha256_init(&h))
				return false;
			lmi_sha256_update(&h, in, sizeof(in));
			if (!lmi_sha256_final(&h, out))
				return false;
		}
		tokens[p->first + i] = -1 - (lmd_token)(lmi_get_le32(out + 4 * at) >> 2);
	}
	return true;
}

enum lmd_status lmi_engine_pictures_copy(struct lmi_engine_seq_picture **out,
					 const struct lmi_inst *inst,
					 const struct lmi_engine_input_seq *in, lmd_token *tokens,
					 struct lmi_sched_span **spans, uint32_t *n_span,
					 struct lmd_error *err)
{
	struct lmi_engine_seq_picture *v = lmi_alloc(in->n_pictures, sizeof(*v));
	struct lmi_sched_span *x = lmi_alloc(in->n_pictures, sizeof(*x));
	bool ok = v && x;

	*n_span = 0;
	for (uint32_t i = 0; ok && i < in->n_pictures; i++) {
		const struct lmi_engine_picture *p = &in->pictures[i];
		size_t n = bytes_of(inst, p);
		void *copy = lmi_alloc(n, 1);

		if (copy)
			memcpy(copy, p->rows ? (const void *)p->rows : p->patches, n);
		v[i] = (struct lmi_engine_seq_picture){.first = p->first,
						       .n = p->n,
						       .grid_w = p->grid_w,
						       .grid_h = p->grid_h,
						       .both_ways = p->both_ways,
						       .patches_w = p->patches_w,
						       .patches_h = p->patches_h,
						       .rows = p->rows ? copy : NULL,
						       .patches = p->rows ? NULL : copy};
		if (p->both_ways)
			x[(*n_span)++] = (struct lmi_sched_span){p->first, p->first + p->n};
		ok = copy && lmi_engine_picture_digest_of(inst, p, v[i].digest) && number_rows(&v[i], tokens);
	}
	if (!ok || !*n_span) {
		lmi_free(x);
		x = NULL;
	}
	if (!ok) {
		lmi_engine_pictures_destroy(v, in->n_pictures);
		return lmd_fail(err, LMD_NOMEM, "no memory for %u pictures", in->n_pictures);
	}
	*out = v;
	*spans = x;
	return LMD_OK;
}

void lmi_engine_pictures_destroy(struct lmi_engine_seq_picture *v, uint32_t n)
{
	for (uint32_t i = 0; v && i < n; i++) {
		lmi_free(v[i].rows);
		lmi_free(v[i].patches);
	}
	lmi_free(v);
}

struct lmi_engine_seq_picture *lmi_engine_pictures_next(struct lmi_engine_seq_picture *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!v[i].rows)
			return &v[i];
	return NULL;
}

/* ---- rows ---- */

const struct lmi_engine_seq_picture *lmi_engine_picture_at(const struct lmi_engine_seq_picture *v,
							   uint32_t n, uint32_t row)
{
	uint32_t lo = 0, hi = n; /* the last one that begins at or before the row */

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (v[mid].first <= row)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && row - v[lo - 1].first < v[lo - 1].n ? &v[lo - 1] : NULL;
}

void lmi_engine_picture_positions(const struct lmi_engine_seq_picture *v, uint32_t n, uint32_t row,
				  int32_t pos[4])
{
	uint32_t back = 0; /* a position is so much less than the number of the row */

	for (uint32_t i = 0; i < n && v[i].first <= row; i++) {
		const struct lmi_engine_seq_picture *p = &v[i];
		uint32_t longest = p->grid_w > p->grid_h ? p->grid_w : p->grid_h;
		int32_t base = (int32_t)(p->first - back);

		if (p->grid_w && row - p->first < p->n) {
			pos[0] = pos[3] = base;
			pos[1] = base + (int32_t)((row - p->first) / p->grid_w);
			pos[2] = base + (int32_t)((row - p->first) % p->grid_w);
			return;
		}
		back += p->grid_w ? p->n - longest : 0;
	}
	for (int k = 0; k < 4; k++)
		pos[k] = (int32_t)(row - back);
}
