/* SPDX-License-Identifier: MIT
 *
 * Opens towers and runs them. */
#include "core/engine/tower.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/engine/second_instance.h"
#include "core/engine/tower_check.h"

/* Bytes of rows that are kept, and the number of pictures. */
#define KEPT_BYTES (64ull << 20)
#define N_KEPT	   256u
/* Bytes of each tensor that the digest of a tower depends on. */
#define DIGEST_BYTES 65536u

struct kept {
	uint8_t digest[LMI_SHA256_BYTES];
	float *rows; /* NULL: free */
	uint64_t tenant, bytes, turn;
};

struct lmi_engine_tower {
	struct lmi_inst *inst;
	const struct lmd_picture *picture;
	uint32_t exec;
	uint8_t digest[LMI_SHA256_BYTES];
	lmd_token *tokens; /* [n_first] the first rows of the input */
	int32_t *pos;	   /* [2][n_batch] */
	float *patches;	   /* [n_batch][n_input_embd] */
	struct kept kept[N_KEPT];
	uint64_t kept_bytes, turn;
};

/* ---- open and close ---- */

static enum lmd_status check(const struct lmi_engine_tower *t, const struct lmi_inst *target,
			     struct lmd_error *err)
{
	const struct lmd_arch_desc *d = &t->inst->desc;
	const struct lmd_picture *p = d->picture;

	if (d->driver != LMD_DRIVER_TOWER || !p)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"architecture %s is not a vision tower, which files named mmproj have",
				t->inst->model->arch);
	if (!p->patch || !p->merge || p->merge > UINT16_MAX || !p->before || !p->after || !p->tile ||
	    !p->line_end || !p->whole || p->fit > LMD_PICTURE_FREE ||
	    (p->fit != LMD_PICTURE_FREE && (!p->size || p->size % (p->patch * p->merge))) ||
	    d->n_input_embd != 3 * p->patch * p->patch || d->n_x != (p->merge > 1) || (p->n_first && p->merge > 1))
		return lmd_fail(err, LMD_INTERNAL, "architecture %s describes its pictures wrongly",
				t->inst->model->arch);
	if (target->desc.driver != LMD_DRIVER_AUTOREGRESSIVE || target->looks_ahead ||
	    target->desc.traits & LMD_TRAIT_NO_MIX || target->n_rank > 1)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s takes no pictures between the tokens of a sequence",
				target->n_rank > 1 ? "a model that is divided by tensors"
						   : target->model->arch);
	if (d->n_embd_out != target->desc.n_input_embd)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"it makes rows of %u numbers, but %.80s takes %u: it belongs to another "
				"model",
				d->n_embd_out, target->model->name, target->desc.n_input_embd);
	return LMD_OK;
}

static void add_key(struct lmi_sha256 *h, const struct lmd_meta *x)
{
	lmi_sha256_update(h, x->key, strlen(x->key) + 1);
	if (x->type < LMD_META_STR)
		lmi_sha256_update(h, &x->v, sizeof(x->v.u));
	else if (x->type == LMD_META_STR && x->v.s.len)
		lmi_sha256_update(h, x->v.s.ptr, x->v.s.len);
	else if (x->type >= LMD_META_ARR_BOOL && x->type < LMD_META_ARR_STR && x->n)
		lmi_sha256_update(h, x->v.a,
				  (size_t)x->n * (x->type == LMD_META_ARR_BOOL ? 1 : sizeof(int64_t)));
}

/* The digest of keys, shapes and the first numbers of all tensors. */
static enum lmd_status make_digest(struct lmi_engine_tower *t, struct lmd_error *err)
{
	const struct lmd_model *m = t->inst->model;
	struct lmi_sha256 h = {0};

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	for (uint32_t i = 0; i < m->n_meta; i++)
		add_key(&h, &m->meta[i]);
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *x = &m->tensors[i];

		lmi_sha256_update(&h, x->name, strlen(x->name) + 1);
		lmi_sha256_update(&h, &x->dtype, sizeof(x->dtype));
		lmi_sha256_update(&h, x->dims, x->n_dim * sizeof(x->dims[0]));
		if (x->data)
			lmi_sha256_update(&h, x->data,
					  x->bytes < DIGEST_BYTES ? (size_t)x->bytes : DIGEST_BYTES);
	}
	return lmi_sha256_final(&h, t->digest) ? LMD_OK
					       : lmd_fail(err, LMD_CANCELLED, "the digest was cancelled");
}

void lmi_engine_tower_opts(struct lmi_engine_second_opts *out, const struct lmi_engine_model_opts *opts,
			   struct lmi_engine_devices *set)
{
	struct lmi_engine_model_opts *o = &out->opts;

	lmi_engine_second_opts_init(out, opts, set, opts->mmproj_path, "mmproj");
	o->n_seq = 1;
	o->k_dtype = o->v_dtype = -1; /* it has no caches */
	o->pooling = LMD_POOL_NONE;
	o->no_prefix_cache = true;
	o->gpu_layers = o->split = NULL; /* which count layers of the model */
}

enum lmd_status lmi_engine_tower_measure(struct lmi_inst *target, const struct lmi_engine_model_opts *opts,
					 struct lmd_error *err)
{
	struct lmi_engine_second_opts o;
	struct lmd_error why = {0};
	enum lmd_status st;

	if (target->only_estimate && !opts->mmproj_optional) {
		st = lmi_engine_tower_check(opts->mmproj_path, target->model, opts->registry, &why);
		if (st != LMD_OK)
			return lmd_fail(err, st, "mmproj %.400s", why.text);
	}
	lmi_engine_tower_opts(&o, opts, target->set);
	st = lmi_engine_second_measure(target, LMI_INST_TOWER, &o, opts->label, &why);
	if (st == LMD_DEVICE || (st != LMD_OK && target->only_estimate && !opts->mmproj_optional))
		return lmd_fail(err, st, "mmproj %.400s", why.text);
	return LMD_OK; /* what is wrong is reported when it is opened */
}

static enum lmd_status open_inst(struct lmi_engine_tower *t, struct lmi_inst *target,
				 const struct lmi_engine_model_opts *opts, struct lmd_error *err)
{
	struct lmi_engine_second_opts o;
	struct lmd_plan_key key;
	enum lmd_status st;

	lmi_engine_tower_opts(&o, opts, target->set);
	st = lmi_inst_open(&t->inst, &o.opts, err);
	if (st == LMD_OK)
		st = check(t, target, err);
	if (st != LMD_OK)
		return st;
	t->picture = t->inst->desc.picture;
	key = lmi_inst_main_key(t->inst);
	st = lmi_inst_exec(t->inst, &key, &t->exec, err);
	if (st == LMD_OK && t->inst->execs[t->exec]->out_width != t->inst->desc.n_embd_out)
		return lmd_fail(err, LMD_INTERNAL, "architecture %s makes rows of %u numbers, not %u",
				t->inst->model->arch, t->inst->execs[t->exec]->out_width,
				t->inst->desc.n_embd_out);
	return st == LMD_OK ? lmi_inst_reserve_external_rows(t->inst, err) : st;
}

static enum lmd_status make_space(struct lmi_engine_tower *t, struct lmd_error *err)
{
	uint32_t n = t->inst->n_batch;

	t->tokens = lmi_alloc(t->picture->n_first + 1, sizeof(*t->tokens));
	t->pos = lmi_alloc(n, 2 * sizeof(*t->pos));
	t->patches = lmi_alloc(n, t->inst->desc.n_input_embd * sizeof(*t->patches));
	if (!t->tokens || !t->pos || !t->patches)
		return lmd_fail(err, LMD_NOMEM, "no memory for pictures of %u patches", n);
	for (uint32_t i = 0; i < t->picture->n_first; i++)
		t->tokens[i] = (lmd_token)i;
	return LMD_OK;
}

void lmi_engine_tower_close(struct lmi_engine_tower *t)
{
	if (!t)
		return;
	lmi_inst_close(t->inst);
	lmi_free(t->tokens);
	lmi_free(t->pos);
	lmi_free(t->patches);
	for (uint32_t i = 0; i < N_KEPT; i++)
		lmi_free(t->kept[i].rows);
	lmi_free(t);
}

enum lmd_status lmi_engine_tower_open(struct lmi_engine_tower **out, struct lmi_inst *target,
				      const struct lmi_engine_model_opts *opts, struct lmd_error *err)
{
	struct lmi_engine_tower *t = lmi_alloc(1, sizeof(*t));
	struct lmd_error cause = {0};
	char shown[160];
	enum lmd_status st;

	if (!t)
		return lmd_fail(err, LMD_NOMEM, "no memory for a vision tower");
	st = open_inst(t, target, opts, &cause);
	if (st == LMD_OK)
		st = make_digest(t, &cause);
	if (st == LMD_OK)
		st = make_space(t, &cause);
	if (st == LMD_OK) {
		*out = t;
		return LMD_OK;
	}
	lmi_engine_tower_close(t);
	return lmi_printable_has_path(cause.text, opts->mmproj_path)
		       ? lmd_fail(err, st, "mmproj %s", cause.text)
		       : lmd_fail(err, st, "mmproj %s: %.300s",
				  lmi_printable_path(shown, sizeof(shown), opts->mmproj_path), cause.text);
}

struct lmi_inst *lmi_engine_tower_inst(const struct lmi_engine_tower *t)
{
	return t->inst;
}

const struct lmd_picture *lmi_engine_tower_picture(const struct lmi_engine_tower *t)
{
	return t->picture;
}

const uint8_t *lmi_engine_tower_digest(const struct lmi_engine_tower *t)
{
	return t->digest;
}

uint32_t lmi_engine_tower_rows(const struct lmi_engine_tower *t, uint32_t patches_w, uint32_t patches_h)
{
	const struct lmd_picture *p = t->picture;
	uint64_t n = (uint64_t)patches_w * patches_h;

	if (!n || patches_w % p->merge || patches_h % p->merge ||
	    n + p->n_first > t->inst->n_batch)
		return 0;
	if (p->fit != LMD_PICTURE_FREE &&
	    (patches_w != p->size / p->patch || patches_h != patches_w))
		return 0;
	return (uint32_t)(n / ((uint64_t)p->merge * p->merge));
}

/* ---- kept rows ---- */

static struct kept *find(struct lmi_engine_tower *t, uint64_t tenant, const uint8_t *digest)
{
	for (uint32_t i = 0; i < N_KEPT; i++)
		if (t->kept[i].rows && t->kept[i].tenant == tenant &&
		    !memcmp(t->kept[i].digest, digest, LMI_SHA256_BYTES))
			return &t->kept[i];
	return NULL;
}

static void forget(struct lmi_engine_tower *t, struct kept *k)
{
	t->kept_bytes -= k->bytes;
	lmi_free(k->rows);
	*k = (struct kept){0};
}

/* Returns the one that was not used for the longest time, or a free one if there is room. */
static struct kept *oldest(struct lmi_engine_tower *t, bool room)
{
	struct kept *k = NULL;

	for (uint32_t i = 0; i < N_KEPT; i++) {
		if (!t->kept[i].rows && room)
			return &t->kept[i];
		if (t->kept[i].rows && (!k || t->kept[i].turn < k->turn))
			k = &t->kept[i];
	}
	return k;
}

/* Keeps a copy of the rows, in place of those that were not used for the longest time. */
static void keep(struct lmi_engine_tower *t, uint64_t tenant, const struct lmi_engine_seq_picture *p,
		 uint64_t bytes)
{
	float *copy = bytes <= KEPT_BYTES ? lmi_alloc(1, (size_t)bytes) : NULL;
	struct kept *k;

	if (!copy)
		return;
	memcpy(copy, p->rows, (size_t)bytes);
	while (t->kept_bytes + bytes > KEPT_BYTES)
		forget(t, oldest(t, false));
	k = oldest(t, true);
	if (k->rows)
		forget(t, k);
	*k = (struct kept){.rows = copy, .tenant = tenant, .bytes = bytes, .turn = ++t->turn};
	memcpy(k->digest, p->digest, LMI_SHA256_BYTES);
	t->kept_bytes += bytes;
}

/* ---- running ---- */

/* Fills in the positions of the patches, which are in the order of their blocks. */
static void fill_positions(struct lmi_engine_tower *t, const struct lmi_engine_seq_picture *p)
{
	const struct lmd_picture *how = t->picture;
	uint32_t m = how->merge, blocks_w = p->patches_w / m, first = how->n_first;
	int32_t *a = t->pos, *b = t->pos + t->inst->n_batch;

	for (uint32_t i = 0; i < first; i++)
		a[i] = b[i] = (int32_t)i;
	for (uint32_t i = 0; i < p->patches_w * p->patches_h; i++) {
		uint32_t block = i / (m * m), at = i % (m * m);
		uint32_t y = block / blocks_w * m + at / m, x = block % blocks_w * m + at % m;

		a[first + i] = (int32_t)(how->by_line ? y : first + y * p->patches_w + x);
		b[first + i] = (int32_t)x;
	}
}

/* Normalises the values of patches. */
static void normalise(struct lmi_engine_tower *t, const uint8_t *v, uint32_t n)
{
	const struct lmd_picture *how = t->picture;
	uint32_t pixels = how->patch * how->patch;
	float table[3][256];

	for (int c = 0; c < 3; c++)
		for (int i = 0; i < 256; i++)
			table[c][i] = ((float)i / 255.0f - how->mean[c]) / how->deviation[c];
	for (uint32_t i = 0; i < 3 * n; i++)
		for (uint32_t k = 0; k < pixels; k++)
			t->patches[(size_t)i * pixels + k] = table[i % 3][v[(size_t)i * pixels + k]];
}

static enum lmd_status compute(struct lmi_engine_tower *t, const struct lmi_engine_seq_picture *p,
			       const struct lmi_engine_step_watch *w, float *rows,
			       struct lmd_error *err)
{
	const struct lmi_inst *inst = t->inst;
	uint32_t n_first = t->picture->n_first, n = n_first + p->patches_w * p->patches_h;
	uint32_t width = inst->execs[t->exec]->out_width;
	struct lmi_engine_seq_picture patches = {
		.first = n_first, .n = n - n_first, .rows = t->patches};
	struct lmi_engine_rows part = {.n = n, .n_out = n, .pictures = &patches, .n_picture = 1};
	enum lmd_status st;

	part.tokens = t->tokens;
	part.pos[0] = t->pos;
	for (int k = 1; k < 4; k++)
		part.pos[k] = t->pos + inst->n_batch;
	fill_positions(t, p);
	normalise(t, p->patches, n - n_first);
	st = lmi_engine_step_run(t->inst, t->exec, &part, 1, w, err);
	if (st == LMD_OK)
		memcpy(rows, inst->slot[0].out + (size_t)n_first * width,
		       (size_t)p->n * width * sizeof(*rows));
	return st;
}

enum lmd_status lmi_engine_tower_run(struct lmi_engine_tower *t, uint64_t tenant,
				     struct lmi_engine_seq_picture *p,
				     const struct lmi_engine_step_watch *w, struct lmd_error *err)
{
	uint64_t bytes = (uint64_t)p->n * t->inst->desc.n_embd_out * sizeof(*p->rows);
	struct kept *k = find(t, tenant, p->digest);
	float *rows = lmi_alloc(1, (size_t)bytes);
	enum lmd_status st = LMD_OK;

	if (!rows)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u rows of a picture", p->n);
	if (k) {
		memcpy(rows, k->rows, (size_t)bytes);
		k->turn = ++t->turn;
	} else {
		st = compute(t, p, w, rows, err);
	}
	if (st != LMD_OK) {
		lmi_free(rows);
		return st;
	}
	p->rows = rows;
	if (!k)
		keep(t, tenant, p, bytes);
	lmi_free(p->patches);
	p->patches = NULL;
	return LMD_OK;
}
