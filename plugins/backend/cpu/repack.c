/* SPDX-License-Identifier: MIT
 *
 * Which weights are repacked, and the groups of each; see repack.h. */
#include "repack.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kern/kern.h"

#define MAX_CHOICES 8192u /* weights after these are not repacked */
#define AUTO_SHARE 8u /* "auto": copies take at most this fraction of the available memory */
/* Copies that are smaller than a large page share blocks of memory, since a copy is only read at
 * the rate of memory if it has large pages.  The host keeps 64 bytes before a block, so that it ends
 * with a page. */
#define SHARED_MIN (64u << 10) /* too small to matter */
#define SHARED_MAX (2u << 20)
#define BLOCK_BYTES ((16u << 20) - 64)

/* A decision that no weight uses is forgotten after this time without a question: the model was not loaded, and
 * another one may lie at these addresses. */
#define FORGET_NS (600ull * 1000000000u)

/* A decision about a weight, found again by the address of its data and the size of its copy. */
struct cpu_repack_choice {
	const void *data;
	uint64_t bytes; /* of the copy */
	uint64_t asked_ns;
	uint32_t n_used; /* by copies */
	bool yes;
};

/* A block of memory for several copies. */
struct cpu_repack_block {
	char *mem; /* [BLOCK_BYTES] */
	size_t used;
	uint32_t n_copy;
};

enum { TO_DO = 0, BUSY = 1, READY = 2 };

/* The copy of a weight. */
struct cpu_packed {
	const struct kern_packed *kern;
	const struct kern_iq_tables *points;
	const void *data;   /* of the decision; NULL: the host's copy needs none */
	uint64_t bytes;     /* of mem */
	char *mem;          /* [n_stack][per_slice] groups */
	struct cpu_repack_block *block; /* has mem; NULL: mem is its own, or borrowed */
	bool borrowed;      /* mem is the host's, which is not written to */
	size_t group_bytes;
	uint32_t per_slice; /* groups */
	uint8_t *state;     /* [n_stack][per_slice] TO_DO, BUSY, READY; atomic */
};

/* ---- which weights ---- */

/* Bytes of memory that are available, 0 if unknown. */
static uint64_t available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0, one;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &one) == 1)
			kib = one;
	if (f)
		(void)fclose(f);
	return (uint64_t)kib << 10;
}

enum lmd_status cpu_repack_open(struct cpu_dev *dev, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	const char *how = getenv("LLAMAD_CPU_REPACK");

	if (!how || !*how || !strcmp(how, "auto"))
		dev->repack_limit = available() / AUTO_SHARE;
	else if (!strcmp(how, "on"))
		dev->repack_limit = UINT64_MAX;
	else if (!strcmp(how, "off"))
		dev->repack_limit = 0;
	else
		return lmd_fail(err, LMD_INVALID,
				"cpu: LLAMAD_CPU_REPACK is '%s', must be auto, on or off", how);
	dev->repack_choices = h->alloc(h->ctx, MAX_CHOICES * sizeof(*dev->repack_choices));
	if (!dev->repack_choices)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for decisions on %u weights",
				MAX_CHOICES);
	(void)pthread_mutex_init(&dev->repack_lock, NULL);
	return LMD_OK;
}

void cpu_repack_close(struct cpu_dev *dev)
{
	if (dev->repack_choices)
		(void)pthread_mutex_destroy(&dev->repack_lock);
	dev->host->free(dev->host->ctx, dev->repack_choices);
}

static uint32_t groups_of(uint32_t n)
{
	return n / KERN_GROUP + (n % KERN_GROUP != 0);
}

/* Bytes of the copy of a weight; 0 if there is no kernel for it or it is too large. */
static uint64_t copy_bytes(const struct cpu_dev *dev, const struct lmd_weight_desc *d)
{
	const struct lmd_weight_ref *ref = d->ref;
	const struct kern_linear *in_place;
	const struct kern_packed *kern;
	uint64_t bytes;

	if (!dev->n_q8 || !d->n_piece || ref->transform == LMD_TRANSFORM_HEAD_TRANSPOSE)
		return 0;
	kern = kern_packed_find(d->dtype, dev->flags);
	in_place = kern_linear_find(d->dtype, KERN_ACT_Q8, dev->flags);
	/* Without vector instructions, or with better ones for them, the rows in the file are as fast. */
	if (!kern || !kern->flags || !in_place || in_place->flags & ~kern->flags ||
	    __builtin_mul_overflow((uint64_t)kern_group_bytes(d->dtype, ref->k),
				   (uint64_t)groups_of(ref->n) * ref->n_stack, &bytes))
		return 0;
	return bytes > SIZE_MAX - KERN_ALIGN ? 0 : bytes;
}

/* ---- decisions, under the lock ---- */

static void forget(struct cpu_dev *dev, struct cpu_repack_choice *c)
{
	dev->repack_total -= c->yes ? c->bytes : 0;
	*c = dev->repack_choices[--dev->n_repack];
}

static void forget_old(struct cpu_dev *dev, uint64_t now)
{
	for (uint32_t i = dev->n_repack; i-- > 0;) {
		struct cpu_repack_choice *c = &dev->repack_choices[i];

		if (!c->n_used && now - c->asked_ns > FORGET_NS)
			forget(dev, c);
	}
}

static struct cpu_repack_choice *find(struct cpu_dev *dev, const void *data, uint64_t bytes)
{
	for (uint32_t i = 0; i < dev->n_repack; i++)
		if (dev->repack_choices[i].data == data && dev->repack_choices[i].bytes == bytes)
			return &dev->repack_choices[i];
	return NULL;
}

/* Finds the decision about a weight whose copy takes `bytes`, or makes it; NULL: there are too many. */
static struct cpu_repack_choice *decide(struct cpu_dev *dev, const void *data, uint64_t bytes)
{
	uint64_t now = dev->host->now_ns(dev->host->ctx);
	struct cpu_repack_choice *c;

	forget_old(dev, now);
	c = find(dev, data, bytes);
	if (!c) {
		if (dev->n_repack == MAX_CHOICES)
			return NULL;
		c = &dev->repack_choices[dev->n_repack++];
		*c = (struct cpu_repack_choice){.data = data,
						.bytes = bytes,
						.yes = bytes <= dev->repack_limit - dev->repack_total};
		dev->repack_total += c->yes ? bytes : 0;
	}
	c->asked_ns = now;
	return c;
}

/* use: the weight is being loaded: a copy is going to be made if the decision is yes, and a no has done its work,
 * so that the next load asks again. */
static uint64_t ask(struct cpu_dev *dev, const struct lmd_weight_desc *d, bool use)
{
	uint64_t bytes = copy_bytes(dev, d);
	struct cpu_repack_choice *c;

	if (!bytes || !dev->repack_limit)
		return 0;
	(void)pthread_mutex_lock(&dev->repack_lock);
	c = decide(dev, d->pieces[0].data, bytes);
	bytes = c && c->yes ? bytes : 0;
	if (bytes && use)
		c->n_used++;
	else if (c && use)
		forget(dev, c);
	(void)pthread_mutex_unlock(&dev->repack_lock);
	return bytes;
}

/* A copy that uses a decision is gone. */
static void end_use(struct cpu_dev *dev, const void *data, uint64_t bytes)
{
	struct cpu_repack_choice *c;

	(void)pthread_mutex_lock(&dev->repack_lock);
	c = find(dev, data, bytes);
	if (c && !--c->n_used)
		forget(dev, c);
	(void)pthread_mutex_unlock(&dev->repack_lock);
}

uint64_t cpu_repack_bytes(struct cpu_dev *dev, const struct lmd_weight_desc *d)
{
	return ask(dev, d, false);
}

/* ---- the copy of a weight ---- */

static struct cpu_repack_block *create_block(const struct lmd_host *h)
{
	struct cpu_repack_block *b = h->alloc(h->ctx, sizeof(*b));

	if (!b)
		return NULL;
	b->mem = h->alloc(h->ctx, BLOCK_BYTES);
	if (b->mem)
		return b;
	h->free(h->ctx, b);
	return NULL;
}

/* Gives p memory for its groups; p->mem stays NULL if there is none. */
static void take_memory(struct cpu_dev *dev, struct cpu_packed *p, size_t bytes)
{
	const struct lmd_host *h = dev->host;
	struct cpu_repack_block *b;

	if (bytes < SHARED_MIN || bytes >= SHARED_MAX) {
		p->mem = h->alloc(h->ctx, bytes);
		if (p->mem)
			cpu_large_pages(p->mem, bytes);
		return;
	}
	(void)pthread_mutex_lock(&dev->repack_lock);
	b = dev->repack_block;
	if (!b || BLOCK_BYTES - b->used < bytes)
		b = create_block(h);
	if (b) {
		dev->repack_block = p->block = b;
		p->mem = b->mem + b->used;
		b->used += (bytes + KERN_ALIGN - 1) / KERN_ALIGN * KERN_ALIGN;
		b->n_copy++;
	}
	(void)pthread_mutex_unlock(&dev->repack_lock);
}

static void give_memory(struct cpu_dev *dev, struct cpu_packed *p)
{
	const struct lmd_host *h = dev->host;
	struct cpu_repack_block *b = p->block;
	bool last;

	if (!b) {
		h->free(h->ctx, p->mem);
		return;
	}
	(void)pthread_mutex_lock(&dev->repack_lock);
	last = !--b->n_copy;
	if (last && dev->repack_block == b)
		dev->repack_block = NULL;
	(void)pthread_mutex_unlock(&dev->repack_lock);
	if (last) {
		h->free(h->ctx, b->mem);
		h->free(h->ctx, b);
	}
}

bool cpu_repack_is_stored(const struct cpu_dev *dev, const struct lmd_weight_desc *d)
{
	return d->stored && d->stored_layout == CPU_REPACK_LAYOUT && dev->repack_limit &&
	       (uintptr_t)d->stored % KERN_ALIGN == 0 && d->stored_bytes &&
	       d->stored_bytes == copy_bytes(dev, d);
}

/* Uses the host's copy. */
static void borrow(struct cpu_packed *p, const struct lmd_weight_desc *d, size_t n_group)
{
	memcpy(&p->mem, &d->stored, sizeof(p->mem)); /* never written to: all groups are ready */
	memset(p->state, READY, n_group);
	p->borrowed = true;
}

enum lmd_status cpu_repack_create(struct cpu_dev *dev, const struct lmd_weight_desc *d,
				  struct lmd_weight *w, struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	bool stored = cpu_repack_is_stored(dev, d);
	uint64_t bytes = stored ? d->stored_bytes : ask(dev, d, true);
	struct cpu_packed *p;

	if (!bytes)
		return LMD_OK;
	p = h->alloc(h->ctx, sizeof(*p));
	w->packed = p;
	if (p) {
		p->data = stored ? NULL : d->pieces[0].data;
		p->bytes = bytes;
		p->kern = kern_packed_find(w->dtype, dev->flags);
		p->points = dev->points;
		p->group_bytes = kern_group_bytes(w->dtype, w->k);
		p->per_slice = groups_of(w->n);
		p->state = h->alloc(h->ctx, (size_t)p->per_slice * w->n_stack);
		if (!stored)
			take_memory(dev, p, (size_t)bytes);
		else if (p->state)
			borrow(p, d, (size_t)p->per_slice * w->n_stack);
	}
	if (p && p->state && p->mem)
		return LMD_OK;
	if (!p && !stored)
		end_use(dev, d->pieces[0].data, bytes);
	cpu_repack_destroy(dev, w);
	return lmd_fail(err, LMD_NOMEM, "%s: no memory for a repacked copy of %llu bytes", w->name,
			(unsigned long long)bytes);
}

void cpu_repack_destroy(struct cpu_dev *dev, struct lmd_weight *w)
{
	const struct lmd_host *h = dev->host;

	if (!w || !w->packed)
		return;
	if (w->packed->data)
		end_use(dev, w->packed->data, w->packed->bytes);
	if (!w->packed->borrowed)
		give_memory(dev, w->packed);
	h->free(h->ctx, w->packed->state);
	h->free(h->ctx, w->packed);
	w->packed = NULL;
}

/* Repacks group g of a slice. */
static void repack(const struct lmd_weight *w, uint32_t slice, uint32_t g, char *to)
{
	const void *rows[KERN_GROUP];
	uint32_t lo = g * KERN_GROUP, n = w->n - lo < KERN_GROUP ? w->n - lo : KERN_GROUP;

	for (uint32_t i = 0; i < n; i++)
		rows[i] = host_mem_weight_at(w, slice, lo + i);
	kern_pack(w->dtype, w->packed->points, rows, n, w->k, to);
}

/* Returns false if another thread is repacking the group. */
static bool make_ready(const struct lmd_weight *w, uint32_t slice, uint32_t g)
{
	const struct cpu_packed *p = w->packed;
	size_t at = (size_t)slice * p->per_slice + g;
	uint8_t was = __atomic_load_n(&p->state[at], __ATOMIC_ACQUIRE);

	if (was == TO_DO && __atomic_compare_exchange_n(&p->state[at], &was, BUSY, false,
							__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		repack(w, slice, g, p->mem + at * p->group_bytes);
		__atomic_store_n(&p->state[at], READY, __ATOMIC_RELEASE);
		return true;
	}
	return was == READY;
}

enum lmd_status cpu_repack_export(const struct lmd_weight *w, void *out, size_t cap, size_t *n)
{
	const struct cpu_packed *p = w->packed;
	size_t n_group = p ? (size_t)w->n_stack * p->per_slice : 0;

	*n = p ? n_group * p->group_bytes : 0;
	if (*n > cap)
		return LMD_OK;
	for (size_t i = 0; i < n_group; i++) {
		char *to = (char *)out + i * p->group_bytes;

		if (__atomic_load_n(&p->state[i], __ATOMIC_ACQUIRE) == READY)
			memcpy(to, p->mem + i * p->group_bytes, p->group_bytes);
		else
			repack(w, (uint32_t)(i / p->per_slice), (uint32_t)(i % p->per_slice), to);
	}
	return LMD_OK;
}

const void *cpu_repack_rows(const struct lmd_weight *w, uint32_t slice, uint32_t lo, uint32_t hi,
			    size_t *group_bytes)
{
	const struct cpu_packed *p = w->packed;
	bool ready = true;

	if (!p || lo % KERN_GROUP)
		return NULL;
	for (uint32_t g = lo / KERN_GROUP; ready && g < groups_of(hi); g++)
		ready = make_ready(w, slice, g);
	*group_bytes = p->group_bytes;
	return ready ? cpu_weight_at(w, slice, lo) : NULL;
}

const struct kern_packed *cpu_repack_kernel(const struct lmd_weight *w)
{
	return w->packed->kern;
}

const void *cpu_weight_at(const struct lmd_weight *w, uint32_t slice, uint32_t n)
{
	const struct cpu_packed *p = w->packed;

	if (!p || slice >= w->n_stack || n >= w->n)
		return host_mem_weight_at(w, slice, n);
	return p->mem + ((size_t)slice * p->per_slice + n / KERN_GROUP) * p->group_bytes;
}
