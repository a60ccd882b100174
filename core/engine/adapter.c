/* SPDX-License-Identifier: MIT
 *
 * Applies adapter files to a model. A device has one pair of matrices per site and slot; files that
 * share a site are merged into one pair: their ranks are concatenated, and their scales are
 * multiplied into B. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/engine/instance.h"
#include "core/checkpoint/adapter/adapter.h"

struct files {
	struct lmi_adapter_file **v; /* [n] */
	const struct lmi_engine_adapter_ref *refs;
	uint32_t n;
};

static const struct lmi_adapter_pair *find(const struct lmi_adapter_file *f, const char *site)
{
	uint32_t lo = 0, hi = lmi_adapter_n(f);

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int c = strcmp(lmi_adapter_pair(f, mid)->site, site);

		if (!c)
			return lmi_adapter_pair(f, mid);
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Adds up the sizes of all pairs at a site; n_pairs counts the pairs. */
static enum lmd_status sizes(const struct files *fs, const struct lmi_adapter_pair *p,
			     uint32_t *rank, uint32_t *n_pairs, struct lmd_error *err)
{
	*rank = *n_pairs = 0;
	for (uint32_t i = 0; i < fs->n; i++) {
		const struct lmi_adapter_pair *q = find(fs->v[i], p->site);

		if (!q)
			continue;
		if (!q->rank != !p->rank || q->n_slice != p->n_slice)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"%s: cannot combine an adapter and a control vector at %s",
					fs->refs[i].path, p->site);
		*rank += q->rank; /* each at most 4096, and at most 2^16 files */
		(*n_pairs)++;
	}
	return LMD_OK;
}

/* Concatenates the ranks. */
static void join(const struct files *fs, const struct lmi_adapter_pair *p, uint32_t rank, float *a,
		 float *b)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < fs->n; i++) {
		const struct lmi_adapter_pair *q = find(fs->v[i], p->site);
		float scale = q ? q->scale * fs->refs[i].scale : 0;

		if (!q)
			continue;
		for (uint32_t s = 0; s < q->n_slice && q->rank; s++) {
			memcpy(a + ((size_t)s * rank + at) * q->k,
			       q->a + (size_t)s * q->rank * q->k,
			       (size_t)q->rank * q->k * sizeof(float));
			for (uint32_t r = 0; r < q->n; r++)
				for (uint32_t j = 0; j < q->rank; j++)
					b[((size_t)s * q->n + r) * rank + at + j] =
						scale * q->b[((size_t)s * q->n + r) * q->rank + j];
		}
		for (uint32_t r = 0; r < q->n && !q->rank; r++)
			b[r] += scale * q->b[r];
		at += q->rank;
	}
}

static enum lmd_status bind_joined(struct lmi_inst *inst, const struct files *fs,
				   const struct lmi_adapter_pair *p, uint32_t rank, uint32_t slot,
				   struct lmd_error *err)
{
	size_t rows = rank ? rank : 1;
	float *a = rank ? lmi_alloc((size_t)p->n_slice * rank * p->k, sizeof(*a)) : NULL;
	float *b = lmi_alloc((size_t)p->n_slice * p->n * rows, sizeof(*b));
	enum lmd_status st;

	if ((rank && !a) || !b) {
		st = lmd_fail(err, LMD_NOMEM, "no memory for rank %u at %s", rank, p->site);
	} else {
		struct lmi_engine_adapter ad = {.slot = slot,
						.site = p->site,
						.rank = rank,
						.n = p->n,
						.k = p->k,
						.n_stack = p->n_slice,
						.a = a,
						.b = b,
						.scale = 1};

		join(fs, p, rank, a, b);
		st = lmi_inst_bind(inst, &ad, err);
	}
	lmi_free(a);
	lmi_free(b);
	return st;
}

/* Returns true if an earlier file has this site. */
static bool was_bound(const struct files *fs, uint32_t i, const char *site)
{
	for (uint32_t k = 0; k < i; k++)
		if (find(fs->v[k], site))
			return true;
	return false;
}

/* Adds what a backend stores for the merged pair of a site: its numbers as floats. */
static bool add_bytes(const struct lmi_adapter_pair *p, uint32_t rank, uint64_t *bytes)
{
	uint64_t a, b;

	return lmi_mul_ok((uint64_t)rank * p->n_slice, p->k, &a) &&
	       lmi_mul_ok((uint64_t)(rank ? rank : 1) * p->n_slice, p->n, &b) &&
	       lmi_add_ok(a, b, &a) && lmi_mul_ok(a, sizeof(float), &a) &&
	       lmi_add_ok(*bytes, a, bytes);
}

/* Visits each site once and puts its merged pair into the slot, or, if bytes is not NULL, only adds
 * its size to *bytes. */
static enum lmd_status each_site(struct lmi_inst *inst, const struct files *fs, uint32_t slot,
				 uint64_t *bytes, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < fs->n; i++) {
		for (uint32_t k = 0; st == LMD_OK && k < lmi_adapter_n(fs->v[i]); k++) {
			const struct lmi_adapter_pair *p = lmi_adapter_pair(fs->v[i], k);
			uint32_t rank, n_pairs;

			if (was_bound(fs, i, p->site))
				continue;
			st = sizes(fs, p, &rank, &n_pairs, err);
			if (st == LMD_OK && !bytes)
				st = bind_joined(inst, fs, p, rank, slot, err);
			else if (st == LMD_OK && !add_bytes(p, rank, bytes))
				st = lmd_fail(err, LMD_INVALID, "the sum of ranks %u at %s is too "
								"large", rank,
					      p->site);
		}
	}
	return st;
}

static enum lmd_status open_one(struct files *fs, const struct lmi_inst *inst, uint32_t i,
				bool sizes_only, struct lmd_error *err)
{
	uint32_t n = 0;
	enum lmd_status st = (sizes_only ? lmi_adapter_open_sizes : lmi_adapter_open)(
		&fs->v[i], fs->refs[i].path, inst->model, inst->registry, err);

	if (st != LMD_OK)
		return st;
	fs->n++;
	(void)lmi_adapter_invocation(fs->v[i], &n);
	if (n)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: activates only after a sequence of %u tokens, which is not "
				"supported",
				fs->refs[i].path, n);
	return LMD_OK;
}

static enum lmd_status with_files(struct lmi_inst *inst, const struct lmi_engine_adapter_ref *refs,
				  uint32_t n, uint32_t slot, uint64_t *bytes, struct lmd_error *err)
{
	struct files fs = {.v = lmi_alloc(n ? n : 1, sizeof(*fs.v)), .refs = refs};
	enum lmd_status st = LMD_OK;

	if (!fs.v || n > UINT16_MAX) {
		lmi_free(fs.v);
		return lmd_fail(err, LMD_NOMEM, "no memory for %u adapters", n);
	}
	for (uint32_t i = 0; st == LMD_OK && i < n; i++)
		st = open_one(&fs, inst, i, bytes != NULL, err);
	if (st == LMD_OK)
		st = each_site(inst, &fs, slot, bytes, err);
	for (uint32_t i = 0; i < fs.n; i++)
		lmi_adapter_close(fs.v[i]);
	lmi_free(fs.v);
	return st;
}

enum lmd_status lmi_inst_add_adapters(struct lmi_inst *inst,
				      const struct lmi_engine_adapter_ref *refs, uint32_t n,
				      uint32_t slot, struct lmd_error *err)
{
	return with_files(inst, refs, n, slot, NULL, err);
}

enum lmd_status lmi_inst_measure_adapters(struct lmi_inst *inst,
					  const struct lmi_engine_adapter_ref *refs, uint32_t n,
					  uint64_t *bytes, struct lmd_error *err)
{
	*bytes = 0;
	return n ? with_files(inst, refs, n, 0, bytes, err) : LMD_OK;
}
