/* SPDX-License-Identifier: MIT
 *
 * Which weights are in the cache, and how they get there: one weight after the other is loaded, exported and
 * destroyed, so that the device needs no more memory than without the cache. */
#include "core/engine/repack_cache.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/engine/repack_file.h"
#include "core/engine/weights_impl.h"
#include "core/worker/worker.h"
#include "llamad/version.h"

#define LOG(inst, level, ...)                                                                      \
	(inst)->host->log((inst)->host->ctx, "engine", (level), __VA_ARGS__)

/* A weight that the file lacks. */
struct item {
	const struct lmd_weight_ref *ref;
	uint8_t id[LMI_SHA256_BYTES];
	uint32_t layout;
	uint64_t bytes; /* that the copy will take, as far as the backend tells */
};

struct list {
	struct lmi_inst *inst;
	struct lmi_inst_device *d;
	uint32_t device;
	struct item *v;
	uint32_t n, cap;
	uint64_t bytes;
};

/* ---- names ---- */

static void add_u32(struct lmi_sha256 *h, uint32_t v)
{
	uint8_t b[4];

	lmi_put_le32(b, v);
	lmi_sha256_update(h, b, sizeof(b));
}

static void add_text(struct lmi_sha256 *h, const char *s)
{
	lmi_sha256_update(h, s, strlen(s) + 1);
}

static void add_tensor(struct lmi_sha256 *h, const struct lmi_inst *inst, uint32_t tensor)
{
	add_text(h, tensor == LMD_NONE ? "" : inst->model->tensors[tensor].name);
}

static void add_part(struct lmi_sha256 *h, const struct lmi_inst *inst, const struct lmd_weight_part *p,
		     uint32_t k)
{
	const uint32_t v[] = {p->kind, p->row0, p->n_row, p->k0, p->n_k};

	for (size_t i = 0; i < LMD_LEN(v); i++)
		add_u32(h, v[i]);
	if (p->kind == LMD_WEIGHT_PART_LITERAL)
		lmi_sha256_update(h, p->literal, (size_t)p->n_row * k * sizeof(float));
	else
		add_tensor(h, inst, p->tensor);
}

/* Names a weight within the files of a model. */
static bool make_id(const struct lmi_inst *inst, const struct lmd_weight_ref *r,
		    uint8_t out[LMI_SHA256_BYTES])
{
	const uint32_t v[] = {r->n_part, r->transform, r->split, r->n_head, r->head_rows, r->n_stack,
			      r->n,      r->k,	       r->dtype, r->extra0, r->n_extra};
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return false;
	for (size_t i = 0; i < LMD_LEN(v); i++)
		add_u32(&h, v[i]);
	add_tensor(&h, inst, r->scale);
	add_tensor(&h, inst, r->bias);
	for (uint32_t i = 0; i < r->n_part; i++)
		add_part(&h, inst, &r->parts[i], r->k);
	return lmi_sha256_final(&h, out);
}

/* Names the file. A backend in the program itself has the version of the program. */
static enum lmd_status make_key(const struct lmi_inst *inst, const struct lmi_inst_device *d,
				uint8_t out[LMI_SHA256_BYTES], struct lmd_error *err)
{
	static const uint8_t built_in[LMI_SHA256_BYTES];
	const struct lmi_factory *f = d->open->backend;
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	lmi_sha256_update(&h, inst->repack->model, LMI_SHA256_BYTES);
	add_text(&h, f->f->name);
	lmi_sha256_update(&h, f->digest, LMI_SHA256_BYTES);
	add_text(&h, memcmp(f->digest, built_in, LMI_SHA256_BYTES) != 0 ? "" : LMD_VERSION);
	return lmi_sha256_final(&h, out) ? LMD_OK : lmd_fail(err, LMD_CANCELLED, "cancelled");
}

/* ---- the open file ---- */

static struct lmi_engine_repack_file *file_of(const struct lmi_inst *inst, uint32_t device)
{
	struct lmi_engine_repack_file *f = inst->repack_files[device];

	return f && f->usable ? f : NULL;
}

/* Lets the device, in a process of its own as well, use a file that is open. */
static enum lmd_status adopt(struct lmi_inst *inst, uint32_t device, struct lmi_engine_repack_file *f,
			     struct lmd_error *err)
{
	const struct lmi_inst_device *d = &inst->devices[device];
	enum lmd_status st = lmi_engine_guard_add(&inst->guard, f->map.ptr, (size_t)f->map.bytes, err);

	f->older = inst->repack_files[device]; /* all stay mapped as long as they are guarded */
	inst->repack_files[device] = f;
	if (st == LMD_OK && d->open->isolated)
		st = lmi_worker_share(d->state, f->map.ptr, f->map.bytes, f->file.fd, 0, err);
	f->usable = st == LMD_OK;
	lmi_file_close(&f->file);
	return st;
}

static enum lmd_status open_file(struct lmi_inst *inst, uint32_t device, struct lmd_error *err)
{
	uint8_t key[LMI_SHA256_BYTES];
	struct lmi_engine_repack_file *f;
	enum lmd_status st = make_key(inst, &inst->devices[device], key, err);

	if (st != LMD_OK)
		return st;
	f = lmi_alloc(1, sizeof(*f));
	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for the repack cache");
	st = lmi_engine_repack_file_open(f, inst->repack->dir, key, err);
	if (st == LMD_OK)
		return adopt(inst, device, f, err);
	lmi_free(f);
	return st;
}

/* Reports what is wrong with the cache, and what that means. Returns what is wrong with the load. */
static enum lmd_status report(const struct lmi_inst *inst, enum lmd_status st, const char *means,
			      const struct lmd_error *why, struct lmd_error *err)
{
	if (st == LMD_CANCELLED || st == LMD_DEVICE)
		return lmd_fail(err, st, "%s", why->text);
	if (st != LMD_OK)
		LOG(inst, LMD_LOG_WARN, "repack cache: %s: %s; %s", inst->model->name, why->text, means);
	return LMD_OK;
}

enum lmd_status lmi_engine_repack_open(struct lmi_inst *inst, uint32_t device, struct lmd_error *err)
{
	struct lmi_inst_device *d = &inst->devices[device];
	struct lmd_error why = {0};
	enum lmd_status st;

	if (!inst->repack || d->opened_repack || !d->ops->weight_export)
		return LMD_OK;
	d->opened_repack = true;
	st = open_file(inst, device, &why);
	if (st == LMD_NOTFOUND)
		return LMD_OK;
	return report(inst, st,
		      st == LMD_CORRUPT || st == LMD_IO ? "the file is written again" : "it is not used", &why,
		      err);
}

/* ---- which weights ---- */

static bool is_listed(const struct list *l, const uint8_t *id)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (!memcmp(l->v[i].id, id, LMI_SHA256_BYTES))
			return true;
	return false;
}

/* Adds what a file has of a weight. */
static bool add_stored(const struct lmi_engine_repack_file *f, const uint8_t *id, struct lmd_weight_desc *d)
{
	const struct lmi_engine_repack_entry *e = f ? lmi_engine_repack_file_find(f, id, &d->stored) : NULL;

	if (!e)
		return false;
	d->stored_layout = e->layout;
	d->stored_bytes = e->bytes;
	return true;
}

static enum lmd_status ask(const struct list *l, const struct lmd_weight_desc *d, struct lmd_weight_plan *p,
			   struct lmd_error *err)
{
	*p = (struct lmd_weight_plan){.struct_size = sizeof(*p)};
	return l->d->ops->weight_query(l->d->state, d, p, err);
}

/* Asks whether the backend repacks a weight that the file does not have in this layout. */
static enum lmd_status is_missing(const struct list *l, const uint8_t *id, struct lmd_weight_desc *d,
				  struct lmd_weight_plan *p, bool *missing, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	*missing = false;
	if (add_stored(file_of(l->inst, l->device), id, d)) {
		st = ask(l, d, p, err);
		if (st != LMD_OK || (p->placement == LMD_PLACE_REPACK && p->layout == d->stored_layout))
			return st;
		d->stored = NULL;
		d->stored_layout = 0;
		d->stored_bytes = 0;
	}
	st = ask(l, d, p, err);
	*missing = st == LMD_OK && p->placement == LMD_PLACE_REPACK;
	return st;
}

/* Lists a weight if the backend repacks it and the file lacks it. */
static enum lmd_status consider(struct list *l, const struct lmd_weight_ref *ref, struct lmd_error *err)
{
	struct lmd_weight_plan p;
	struct item item = {.ref = ref};
	struct lmi_weight_floats f = {0};
	struct lmd_weight_desc d;
	bool missing = false;
	enum lmd_status st = lmi_engine_weights_describe(l->d->weights, ref, &f, &d, err);

	if (st == LMD_OK && !make_id(l->inst, ref, item.id))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	if (st == LMD_OK)
		st = is_missing(l, item.id, &d, &p, &missing, err);
	lmi_engine_weights_floats_free(&f);
	if (st != LMD_OK || !missing || is_listed(l, item.id))
		return st;
	item.layout = p.layout;
	item.bytes = p.bytes;
	l->v[l->n++] = item;
	l->bytes += p.bytes;
	return LMD_OK;
}

/* Lists what the file lacks of the weights that a plan needs on the device. */
static enum lmd_status make_list(struct list *l, const struct lmi_engine_exec *e, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	l->n = l->cap = 0;
	l->bytes = 0;
	for (uint32_t i = 0; i < e->n_segment; i++)
		l->cap += e->segments[i].device == l->device ? e->segments[i].view->n_weight_ref : 0;
	lmi_free(l->v);
	l->v = lmi_alloc(l->cap + (size_t)1, sizeof(*l->v));
	if (!l->v)
		return lmd_fail(err, LMD_NOMEM, "no memory for a list of weights");
	lmi_inst_hold(l->inst);
	for (uint32_t i = 0; i < e->n_segment && st == LMD_OK; i++) {
		const struct lmd_plan *p = e->segments[i].view;

		for (uint32_t k = 0; e->segments[i].device == l->device && k < p->n_weight_ref &&
				     st == LMD_OK;
		     k++)
			st = consider(l, &p->weight_refs[k], err);
	}
	lmi_inst_let_go(l->inst);
	return st;
}

/* ---- writing ---- */

/* Exports a loaded weight into *buf, which grows to *cap. */
static enum lmd_status export(const struct list *l, const struct lmd_weight *w, uint8_t **buf, size_t *cap,
			      size_t *n, struct lmd_error *err)
{
	const struct lmd_backend_ops *ops = l->d->ops;
	enum lmd_status st = ops->weight_export(l->d->state, w, NULL, 0, n);
	void *more;

	if (st != LMD_OK)
		return lmd_fail(err, st, "the backend does not export a weight");
	if (!*n)
		return lmd_fail(err, LMD_INTERNAL, "the backend exports 0 bytes of a weight that it repacks");
	if (*n > l->inst->repack->max_bytes)
		return lmd_fail(err, LMD_INVALID, "a weight of %zu bytes exceeds the limit of %llu", *n,
				(unsigned long long)l->inst->repack->max_bytes);
	if (*n > *cap) {
		more = lmi_alloc(1, *n);
		if (!more)
			return lmd_fail(err, LMD_NOMEM, "no memory for a weight of %zu bytes", *n);
		lmi_free(*buf);
		*buf = more;
		*cap = *n;
	}
	st = ops->weight_export(l->d->state, w, *buf, *cap, n);
	return st == LMD_OK && *n <= *cap ? LMD_OK
					  : lmd_fail(err, st == LMD_OK ? LMD_INTERNAL : st,
						     "the backend does not export a weight");
}

static enum lmd_status write_one(struct list *l, const struct item *item,
				 struct lmi_engine_repack_writer *w, uint8_t **buf, size_t *cap,
				 struct lmd_error *err)
{
	struct lmi_weight_floats f = {0};
	struct lmd_weight *x = NULL;
	struct lmd_weight_desc d;
	size_t n = 0;
	enum lmd_status st = lmi_engine_weights_describe(l->d->weights, item->ref, &f, &d, err);

	if (st == LMD_OK)
		st = l->d->ops->weight_load(l->d->state, &d, &x, err);
	if (st == LMD_OK) {
		lmi_inst_hold(l->inst); /* other models wait for one weight at most */
		st = export(l, x, buf, cap, &n, err);
		l->d->ops->weight_destroy(l->d->state, x);
		lmi_inst_let_go(l->inst);
	}
	lmi_engine_weights_floats_free(&f);
	if (st == LMD_OK && w->at + n > l->inst->repack->max_bytes)
		st = lmd_fail(err, LMD_INVALID, "more than the limit of %llu bytes",
			      (unsigned long long)l->inst->repack->max_bytes);
	if (st == LMD_OK)
		st = lmi_engine_repack_writer_add(w, item->id, item->layout, *buf, n, err);
	l->d->n_exported += st == LMD_OK;
	return st;
}

/* Bytes of a weight in a file, with what lies before the next one. */
static uint64_t room(uint64_t bytes)
{
	return bytes + LMI_ENGINE_REPACK_ALIGN + LMI_ENGINE_REPACK_ENTRY;
}

/* Counts what the new file keeps of the old one: all that is not listed, or nothing if both are too much. */
static uint32_t count_kept(const struct list *l, const struct lmi_engine_repack_file *f, uint64_t *bytes)
{
	uint64_t sum = 0, listed = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		listed += room(l->v[i].bytes);
	for (uint32_t i = 0; f && i < f->n; i++) {
		if (is_listed(l, f->v[i].id))
			continue;
		sum += room(f->v[i].bytes);
		n++;
	}
	if (sum + listed > l->inst->repack->max_bytes || n > LMI_ENGINE_REPACK_WEIGHTS - l->n)
		n = 0;
	*bytes = n ? sum : 0;
	return n;
}

static enum lmd_status write_kept(const struct list *l, const struct lmi_engine_repack_file *f,
				  struct lmi_engine_repack_writer *w, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < f->n && st == LMD_OK; i++) {
		if (is_listed(l, f->v[i].id))
			continue;
		st = lmi_engine_repack_writer_add(w, f->v[i].id, f->v[i].layout, f->map.ptr + f->v[i].at,
						  f->v[i].bytes, err);
		if (st == LMD_OK && w->v[w->n - 1].checksum != f->v[i].checksum)
			st = lmd_fail(err, LMD_CORRUPT, "the old file changed while it was copied");
	}
	return st;
}

static enum lmd_status write_listed(struct list *l, struct lmi_engine_repack_writer *w, struct lmd_error *err)
{
	uint8_t *buf = NULL;
	uint64_t done = 0;
	size_t cap = 0;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < l->n && st == LMD_OK; i++) {
		st = write_one(l, &l->v[i], w, &buf, &cap, err);
		done += l->v[i].bytes;
		if (st == LMD_OK && l->inst->progress &&
		    !l->inst->progress(l->inst->progress_arg, LMI_ENGINE_LOAD_REPACK, done, l->bytes))
			st = lmd_fail(err, LMD_CANCELLED, "cancelled after repacked weight %s",
				      l->v[i].ref->name);
	}
	lmi_free(buf);
	return st;
}

/* Writes a file with what is listed, and with what the device's file has besides. */
static enum lmd_status write_all(struct list *l, struct lmd_error *err)
{
	const struct lmi_engine_repack_opts *o = l->inst->repack;
	const struct lmi_engine_repack_file *old = file_of(l->inst, l->device);
	struct lmi_engine_repack_writer w;
	uint8_t key[LMI_SHA256_BYTES];
	uint64_t kept;
	uint32_t n_kept;
	enum lmd_status st;

	if (l->n > LMI_ENGINE_REPACK_WEIGHTS)
		return lmd_fail(err, LMD_INVALID, "%u weights exceed the limit of %u", l->n,
				LMI_ENGINE_REPACK_WEIGHTS);
	n_kept = count_kept(l, old, &kept);
	st = make_key(l->inst, l->d, key, err);
	if (st != LMD_OK)
		return st;
	lmi_engine_repack_trim(o->dir, l->bytes + kept < o->max_bytes ? o->max_bytes - l->bytes - kept : 0, key);
	if (l->bytes > o->max_bytes)
		return lmd_fail(err, LMD_INVALID, "%llu bytes exceed the limit of %llu",
				(unsigned long long)l->bytes, (unsigned long long)o->max_bytes);
	st = lmi_engine_repack_writer_open(&w, o->dir, key, l->n + n_kept, err);
	if (st != LMD_OK)
		return st;
	if (n_kept)
		st = write_kept(l, old, &w, err);
	if (st == LMD_OK)
		st = write_listed(l, &w, err);
	if (st == LMD_OK && lmi_engine_guard_is_bad(&l->inst->guard)) /* zeros were exported */
		st = lmd_fail(err, LMD_IO, "a mapped file was truncated while it was read");
	if (st == LMD_OK)
		st = lmi_engine_repack_writer_commit(&w, err);
	else
		lmi_engine_repack_writer_abort(&w);
	lmi_engine_repack_trim(o->dir, o->max_bytes, NULL);
	return st;
}

static enum lmd_status write_missing(struct list *l, struct lmd_error *err)
{
	enum lmd_status st = write_all(l, err);

	if (st != LMD_OK)
		return st;
	l->inst->wrote_repack = true;
	st = open_file(l->inst, l->device, err);
	if (st == LMD_OK)
		LOG(l->inst, LMD_LOG_INFO, "repack cache: %u weights of %s on %s written", l->n,
		    l->inst->model->name, l->d->name);
	return st;
}

/* ---- use ---- */

enum lmd_status lmi_engine_repack_prepare(struct lmi_inst *inst, uint32_t device,
					  const struct lmi_engine_exec *e, struct lmd_error *err)
{
	struct list l = {.inst = inst, .d = &inst->devices[device], .device = device};
	struct lmd_error why = {0};
	enum lmd_status st;

	if (!inst->repack || l.d->tried_repack || !l.d->ops->weight_export)
		return LMD_OK;
	l.d->tried_repack = true;
	st = lmi_engine_repack_open(inst, device, err); /* of a device that was added meanwhile */
	if (st != LMD_OK)
		return st;
	st = make_list(&l, e, &why);
	/* another device of the model may have written the file a moment ago */
	if (st == LMD_OK && l.n && inst->wrote_repack && open_file(inst, device, NULL) == LMD_OK)
		st = make_list(&l, e, &why);
	if (st == LMD_OK && l.n)
		st = write_missing(&l, &why);
	lmi_free(l.v);
	return report(inst, st, "nothing is added to the cache", &why, err);
}

bool lmi_engine_repack_add(const struct lmi_inst *inst, uint32_t device, const struct lmd_weight_ref *ref,
			   struct lmd_weight_desc *d)
{
	const struct lmi_engine_repack_file *f = file_of(inst, device);
	uint8_t id[LMI_SHA256_BYTES];

	return f && make_id(inst, ref, id) && add_stored(f, id, d);
}

void lmi_engine_repack_close(struct lmi_inst *inst)
{
	for (uint32_t i = 0; i < LMI_ENGINE_MAX_DEVICE; i++) {
		while (inst->repack_files[i]) {
			struct lmi_engine_repack_file *f = inst->repack_files[i];

			inst->repack_files[i] = f->older;
			lmi_engine_repack_file_close(f);
			lmi_free(f);
		}
	}
}
