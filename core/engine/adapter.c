/* SPDX-License-Identifier: MIT
 *
 * Applies adapter files to a model. A device has one pair of matrices per site and slot; files that
 * share a site are merged into one pair: their ranks are concatenated, and their scales are
 * multiplied into B. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/engine/adapter_bind.h"
#include "core/engine/adapter_ref.h"
#include "core/engine/instance.h"
#include "core/checkpoint/adapter/adapter.h"

struct lmi_engine_adapter_data {
	struct lmi_adapter_file **v;	     /* [n] */
	struct lmi_engine_adapter_ref *refs; /* [n] */
	uint32_t n;
	uint64_t bytes;		/* that a device stores */
	uint64_t key;		/* lmi_engine_adapter_key */
	uint32_t i_file, i_pair; /* the next pair to bind */
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

/* Adds up the sizes of all pairs at a site; n_pairs counts the pairs. One with a magnitude is alone: the
 * lengths of the rows would depend on the others. */
static enum lmd_status sizes(const struct lmi_engine_adapter_data *fs,
			     const struct lmi_adapter_pair *p, uint32_t *rank, uint32_t *n_pairs,
			     struct lmd_error *err)
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
		if ((q->has_magnitude || p->has_magnitude) && q != p)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"%s: a DoRA adapter cannot be combined with another one at %s; merge "
					"one of them into the model",
					fs->refs[i].path, p->site);
		*rank += q->rank; /* each at most 4096, and at most 2^16 files */
		(*n_pairs)++;
	}
	return LMD_OK;
}

/* Concatenates the ranks. */
static void join(const struct lmi_engine_adapter_data *fs, const struct lmi_adapter_pair *p,
		 uint32_t rank, float *a, float *b)
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

static enum lmd_status bind_joined(struct lmi_inst *inst, const struct lmi_engine_adapter_data *fs,
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
						.gain = p->gain,
						.scale = 1};

		join(fs, p, rank, a, b);
		st = lmi_inst_bind(inst, &ad, err);
	}
	lmi_free(a);
	lmi_free(b);
	return st;
}

/* Returns true if an earlier file has this site. */
static bool was_bound(const struct lmi_engine_adapter_data *fs, uint32_t i, const char *site)
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
	       lmi_mul_ok((uint64_t)(rank ? rank : 1) * p->n_slice + (p->has_magnitude ? p->n_slice : 0),
			  p->n, &b) &&
	       lmi_add_ok(a, b, &a) && lmi_mul_ok(a, sizeof(float), &a) &&
	       lmi_add_ok(*bytes, a, bytes);
}

/* Adds up what a device stores for all sites. */
static enum lmd_status measure(struct lmi_engine_adapter_data *fs, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < fs->n; i++) {
		for (uint32_t k = 0; st == LMD_OK && k < lmi_adapter_n(fs->v[i]); k++) {
			const struct lmi_adapter_pair *p = lmi_adapter_pair(fs->v[i], k);
			uint32_t rank, n_pairs;

			if (was_bound(fs, i, p->site))
				continue;
			st = sizes(fs, p, &rank, &n_pairs, err);
			if (st == LMD_OK && !add_bytes(p, rank, &fs->bytes))
				st = lmd_fail(err, LMD_INVALID, "the sum of ranks %u at %s is too "
								"large", rank,
					      p->site);
		}
	}
	return st;
}

static enum lmd_status open_one(struct lmi_engine_adapter_data *fs, const struct lmi_inst *inst,
				const struct lmi_engine_adapter_ref *ref, uint32_t n_all,
				bool sizes_only, struct lmd_error *err)
{
	uint32_t i = fs->n, n = 0;
	enum lmd_status st;

	fs->refs[i] = (struct lmi_engine_adapter_ref){
		.path = lmi_strndup(ref->path, strlen(ref->path)), .scale = ref->scale};
	fs->n++;
	if (!fs->refs[i].path)
		return lmd_fail(err, LMD_NOMEM, "no memory for the path of an adapter");
	st = (sizes_only ? lmi_adapter_open_sizes : lmi_adapter_open)(
		&fs->v[i], ref->path, inst->model, inst->registry, err);
	if (st != LMD_OK)
		return st;
	if (!sizes_only)
		st = lmi_adapter_set_gains(fs->v[i], inst->model, ref->scale, err);
	if (st != LMD_OK) {
		lmd_error_prefix(err, ref->path);
		return st;
	}
	(void)lmi_adapter_invocation(fs->v[i], &n);
	if (n && n_all > 1)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: activates only from a sequence of %u tokens on, and does not apply "
				"together with others",
				ref->path, n);
	return LMD_OK;
}

/* Opens the files; sizes_only: nothing can be bound, only `bytes` is known. */
static enum lmd_status read_files(struct lmi_engine_adapter_data **out, const struct lmi_inst *inst,
				  const struct lmi_engine_adapter_ref *refs, uint32_t n,
				  bool sizes_only, struct lmd_error *err)
{
	struct lmi_engine_adapter_data *fs = lmi_alloc(1, sizeof(*fs));
	enum lmd_status st = LMD_OK;

	if (fs && n <= UINT16_MAX) {
		fs->v = lmi_alloc(n + 1u, sizeof(*fs->v));
		fs->refs = lmi_alloc(n + 1u, sizeof(*fs->refs));
	}
	if (!fs || !fs->v || !fs->refs)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u adapters", n);
	else
		fs->key = lmi_engine_adapter_key(refs, n);
	for (uint32_t i = 0; st == LMD_OK && i < n; i++)
		st = open_one(fs, inst, &refs[i], n, sizes_only, err);
	if (st == LMD_OK)
		st = measure(fs, err);
	/* otherwise rows of the files that were there before would be found for these */
	if (st == LMD_OK && lmi_engine_adapter_key(refs, n) != fs->key)
		st = lmd_fail(err, LMD_BUSY, "%s: the file was changed while it was read; try again",
			      refs[0].path);
	if (st != LMD_OK) {
		lmi_engine_adapter_data_destroy(fs);
		return st;
	}
	*out = fs;
	return LMD_OK;
}

enum lmd_status lmi_inst_read_adapters(struct lmi_engine_adapter_data **out,
				       const struct lmi_inst *inst,
				       const struct lmi_engine_adapter_ref *refs, uint32_t n,
				       struct lmd_error *err)
{
	return read_files(out, inst, refs, n, false, err);
}

void lmi_engine_adapter_data_destroy(struct lmi_engine_adapter_data *d)
{
	for (uint32_t i = 0; d && d->refs && i < d->n; i++) {
		lmi_adapter_close(d->v[i]);
		lmi_free((char *)d->refs[i].path);
	}
	if (d) {
		lmi_free(d->refs);
		lmi_free(d->v);
	}
	lmi_free(d);
}

uint64_t lmi_engine_adapter_data_bytes(const struct lmi_engine_adapter_data *d)
{
	return d->bytes;
}

void lmi_inst_clear_slot(struct lmi_inst *inst, uint32_t slot)
{
	lmi_free(inst->adapter_slots[slot].invocation);
	inst->adapter_slots[slot] = (struct lmi_inst_adapter_slot){.key = 0};
}

enum lmd_status lmi_inst_set_slot(struct lmi_inst *inst, uint32_t slot,
				  const struct lmi_engine_adapter_data *d, struct lmd_error *err)
{
	struct lmi_inst_adapter_slot s = {.key = d->key, .bytes = d->bytes};
	const int32_t *from = d->n ? lmi_adapter_invocation(d->v[0], &s.n_invocation) : NULL;

	if (s.n_invocation) {
		s.invocation = lmi_alloc(s.n_invocation, sizeof(*s.invocation));
		if (!s.invocation)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u tokens", s.n_invocation);
		memcpy(s.invocation, from, s.n_invocation * sizeof(*s.invocation));
	}
	lmi_inst_clear_slot(inst, slot);
	inst->adapter_slots[slot] = s;
	return LMD_OK;
}

/* Returns the pair that is bound next, or NULL if all are. */
static const struct lmi_adapter_pair *next_pair(struct lmi_engine_adapter_data *d)
{
	for (; d->i_file < d->n; d->i_file++, d->i_pair = 0) {
		const struct lmi_adapter_file *f = d->v[d->i_file];

		while (d->i_pair < lmi_adapter_n(f)) {
			const struct lmi_adapter_pair *p = lmi_adapter_pair(f, d->i_pair++);

			if (!was_bound(d, d->i_file, p->site))
				return p;
		}
	}
	return NULL;
}

enum lmd_status lmi_inst_bind_some(struct lmi_inst *inst, struct lmi_engine_adapter_data *d,
				   uint32_t slot, uint64_t bytes, bool *done, struct lmd_error *err)
{
	const struct lmi_adapter_pair *p = NULL;
	enum lmd_status st = LMD_OK;
	uint64_t n = 0;

	while (st == LMD_OK && n < bytes && (p = next_pair(d))) {
		uint32_t rank, n_pairs;

		st = sizes(d, p, &rank, &n_pairs, err);
		if (st == LMD_OK)
			st = bind_joined(inst, d, p, rank, slot, err);
		(void)add_bytes(p, rank, &n); /* measured without an overflow */
	}
	*done = !p;
	return st;
}

enum lmd_status lmi_inst_add_adapters(struct lmi_inst *inst,
				      const struct lmi_engine_adapter_ref *refs, uint32_t n,
				      uint32_t slot, struct lmd_error *err)
{
	struct lmi_engine_adapter_data *d;
	enum lmd_status st = lmi_inst_read_adapters(&d, inst, refs, n, err);
	bool done;

	if (st != LMD_OK)
		return st;
	st = lmi_inst_bind_some(inst, d, slot, UINT64_MAX, &done, err);
	if (st == LMD_OK)
		st = lmi_inst_set_slot(inst, slot, d, err);
	lmi_engine_adapter_data_destroy(d);
	return st;
}

enum lmd_status lmi_inst_measure_adapters(struct lmi_inst *inst,
					  const struct lmi_engine_adapter_ref *refs, uint32_t n,
					  uint64_t *bytes, struct lmd_error *err)
{
	struct lmi_engine_adapter_data *d;
	enum lmd_status st;

	*bytes = 0;
	if (!n)
		return LMD_OK;
	st = read_files(&d, inst, refs, n, true, err);
	if (st != LMD_OK)
		return st;
	*bytes = d->bytes;
	lmi_engine_adapter_data_destroy(d);
	return LMD_OK;
}

enum lmd_status lmi_inst_empty_slot(struct lmi_inst *inst, uint32_t slot, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	lmi_inst_clear_slot(inst, slot);
	for (uint32_t i = 0; i < inst->desc.n_lora_site && st == LMD_OK; i++) {
		const struct lmi_engine_adapter none = {.slot = slot,
							.site = inst->desc.lora_sites[i]};

		st = lmi_inst_bind(inst, &none, err);
	}
	return st;
}
