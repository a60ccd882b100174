/* SPDX-License-Identifier: MIT
 *
 * Weights in a worker: their data are in mapped files, or in the memory that came with the message. */
#include <sys/mman.h>

#include "core/base/arena.h"
#include "core/plugin/registry.h"
#include "core/worker/plan_codec.h"
#include "core/worker/serve.h"

#define ARENA_LIMIT (1ull << 30)

/* Returns the address of bytes of a mapping; NULL: it has not so many. */
static const char *inside(const char *mem, uint64_t all, uint64_t at, uint64_t bytes)
{
	return mem && at <= all && bytes <= all - at ? mem + at : NULL;
}

static const char *data_of(struct lmi_worker_serve *s, const struct lmi_worker_piece *p,
			   const char *mem, uint64_t bytes)
{
	const struct lmi_worker_object *f;

	if (p->file == LMI_WORKER_NONE)
		return inside(mem, bytes, p->at, p->bytes);
	f = lmi_worker_object_find(s, p->file, LMI_WORKER_OBJECT_FILE);
	return f ? inside(f->mem, f->bytes, p->at, p->bytes) : NULL;
}

/* Returns what is stored of a weight in a file that both processes map; NULL: nothing. */
static const void *stored_of(struct lmi_worker_serve *s, const struct lmi_worker_weight *w)
{
	const struct lmi_worker_object *f =
		w->stored_file == LMI_WORKER_NONE || !w->desc.stored_bytes
			? NULL
			: lmi_worker_object_find(s, w->stored_file, LMI_WORKER_OBJECT_FILE);

	return f ? inside(f->mem, f->bytes, w->stored_at, w->desc.stored_bytes) : NULL;
}

/* Reads a weight. mem: what came with the message, or, for a query, any memory, which nobody reads. */
static enum lmd_status get(struct lmi_worker_serve *s, struct lmi_worker_in *in, struct lmd_arena *a,
			   const char *mem, uint64_t bytes, struct lmd_weight_desc *d,
			   struct lmd_error *err)
{
	struct lmi_worker_weight head;
	struct lmd_weight_ref *ref = lmi_arena_alloc(a, sizeof(*ref), 8);
	struct lmd_weight_piece *pieces;

	lmi_worker_in_read(in, &head, sizeof(head));
	if (!ref)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for a weight");
	lmi_worker_get_weight_ref(in, a, ref);
	if (in->failed || head.desc.n_piece > in->n / sizeof(struct lmi_worker_piece))
		return lmi_worker_too_short(err);
	pieces = lmi_arena_array(a, head.desc.n_piece + 1u, sizeof(*pieces));
	if (!pieces)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for a weight");
	*d = head.desc;
	d->ref = ref;
	d->pieces = pieces;
	d->stored = stored_of(s, &head);
	d->scale = (const float *)(const void *)inside(mem, bytes, head.scale_at,
						       head.desc.n_scale * sizeof(float));
	d->bias = (const float *)(const void *)inside(mem, bytes, head.bias_at,
						      head.desc.n_bias * sizeof(float));
	if (!d->n_scale)
		d->scale = NULL;
	if (!d->n_bias)
		d->bias = NULL;
	if ((d->n_scale && !d->scale) || (d->n_bias && !d->bias))
		return lmi_worker_too_short(err);
	for (uint32_t i = 0; i < d->n_piece; i++) {
		struct lmi_worker_piece p;

		lmi_worker_in_read(in, &p, sizeof(p));
		pieces[i] = p.piece;
		pieces[i].data = data_of(s, &p, mem, bytes);
		if (in->failed || !pieces[i].data)
			return lmd_fail(err, LMD_INVALID,
					"worker: weight %.80s: %llu bytes at %llu are in no memory that "
					"was shared",
					ref->name, (unsigned long long)p.bytes,
					(unsigned long long)p.at);
	}
	return LMD_OK;
}

enum lmd_status lmi_worker_do_weight_query(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					   struct lmd_error *err)
{
	static const char any[64];
	struct lmd_arena *a = lmi_arena_create(ARENA_LIMIT);
	struct lmd_weight_plan out = {.struct_size = sizeof(out)};
	struct lmd_weight_desc d;
	enum lmd_status st;

	(void)fd;
	if (!a)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for a weight");
	st = get(s, in, a, any, UINT64_MAX, &d, err);
	if (st == LMD_OK)
		st = s->ops->weight_query(s->state, &d, &out, err);
	lmi_arena_destroy(a);
	(void)lmi_worker_out_put(&s->reply, &out, sizeof(out));
	return st;
}

/* Maps the memory of a message; *mem is NULL if there is none. */
static enum lmd_status map_copied(uint64_t bytes, int fd, char **mem, struct lmd_error *err)
{
	void *p;

	*mem = NULL;
	if (!bytes)
		return LMD_OK;
	p = fd >= 0 && bytes < SIZE_MAX / 2 ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0)
					    : MAP_FAILED;
	if (p == MAP_FAILED)
		return lmd_fail(err, LMD_NOMEM, "worker: %llu bytes of a weight cannot be mapped",
				(unsigned long long)bytes);
	*mem = p;
	return LMD_OK;
}

/* Frees the memory that came with the message, if the device has copied the weight from it. */
static void drop_copied(struct lmi_worker_serve *s, struct lmi_worker_object *o,
			const struct lmd_weight_desc *d)
{
	struct lmd_weight_plan p = {.struct_size = sizeof(p)};

	if (!o->mem || !s->own_memory || s->ops->weight_query(s->state, d, &p, NULL) != LMD_OK ||
	    p.keeps_source)
		return;
	(void)munmap(o->mem, (size_t)o->bytes);
	o->mem = NULL;
	o->bytes = 0;
}

enum lmd_status lmi_worker_do_weight_export(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					    struct lmd_error *err)
{
	const struct lmi_worker_object *o =
		lmi_worker_object_find(s, lmi_worker_in_u64(in), LMI_WORKER_OBJECT_WEIGHT);
	uint64_t cap = lmi_worker_in_u64(in);
	void *mem = NULL;
	size_t n = 0;
	enum lmd_status st;

	if (in->failed || !o)
		return lmd_fail(err, LMD_INVALID, "worker: there is no such weight");
	if (!s->ops->weight_export)
		return lmd_fail(err, LMD_UNSUPPORTED, "backend %s does not export weights",
				s->factory->f->name);
	if (cap) {
		mem = fd >= 0 && cap < SIZE_MAX / 2
			      ? mmap(NULL, (size_t)cap, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			      : MAP_FAILED;
		if (mem == MAP_FAILED)
			return lmd_fail(err, LMD_NOMEM, "worker: %llu bytes cannot be mapped",
					(unsigned long long)cap);
	}
	st = s->ops->weight_export(s->state, o->weight, mem, (size_t)cap, &n);
	if (mem)
		(void)munmap(mem, (size_t)cap);
	lmi_worker_out_u64(&s->reply, n);
	return st == LMD_OK ? st : lmd_fail(err, st, "worker: a weight cannot be exported");
}

enum lmd_status lmi_worker_do_weight_load(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					  struct lmd_error *err)
{
	uint64_t number = lmi_worker_in_u64(in), bytes = lmi_worker_in_u64(in);
	struct lmi_worker_object *o;
	struct lmd_weight_desc d;
	enum lmd_status st = lmi_worker_object_create(s, number, LMI_WORKER_OBJECT_WEIGHT, &o, err);

	if (st != LMD_OK)
		return st;
	o->arena = lmi_arena_create(ARENA_LIMIT);
	if (!o->arena)
		st = lmd_fail(err, LMD_NOMEM, "worker: no memory for a weight");
	if (st == LMD_OK)
		st = map_copied(bytes, fd, &o->mem, err);
	o->bytes = o->mem ? bytes : 0;
	if (st == LMD_OK)
		st = get(s, in, o->arena, o->mem, o->bytes, &d, err);
	if (st == LMD_OK)
		st = s->ops->weight_load(s->state, &d, &o->weight, err);
	if (st == LMD_OK)
		drop_copied(s, o, &d);
	else
		lmi_worker_object_destroy(s, o);
	return st;
}
