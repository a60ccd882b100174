/* SPDX-License-Identifier: MIT
 *
 * Cases of what a device does besides computing: copies, events, queues, operations on pages and state
 * slots, work beside another device.  They compare bytes, so they need no reference backend.  A case of
 * something that the device declares not to have is skipped, with what it lacks. */
#include <string.h>

#include "core/conformance/opcase_priv.h"

#define N_BYTE	4096u
#define N_PAGE	4u
#define N_SLOT	4u
#define N_CACHE 2u
#define DK	64u

struct device_case {
	struct oc_backend *be;
	const struct lmd_backend_ops *ops;
	struct lmd_queue *q, *q2;
	struct lmd_event *event, *event2;
	struct lmd_buffer *a, *b;
	struct lmd_pool *pool;
	bool no_pool; /* the backend does not support such a pool */
	struct oc_backend other; /* another device of the backend, with ... */
	struct lmd_queue *other_q;
	struct lmd_event *other_event;
	struct lmd_buffer *other_a, *other_b;
	size_t row_bytes; /* of a page, all caches */
	unsigned char want[4 * N_BYTE], have[4 * N_BYTE];
	uint64_t rng;
	struct lmd_error err;
};

/* ---- helpers ---- */

static bool ok(enum lmd_status st)
{
	return st == LMD_OK;
}

static bool fail(struct device_case *c, const char *text)
{
	(void)lmd_fail(&c->err, LMD_INTERNAL, "%s", text);
	return false;
}

static void fill(struct device_case *c, unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		c->rng = c->rng * 6364136223846793005ull + 1442695040888963407ull;
		p[i] = (unsigned char)(c->rng >> 40);
	}
}

/* Fills p with n f32 numbers. */
static void fill_floats(struct device_case *c, unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float v;

		c->rng = c->rng * 6364136223846793005ull + 1442695040888963407ull;
		v = (float)(int32_t)(c->rng >> 40) / 4096.0f;
		memcpy(p + i * sizeof(v), &v, sizeof(v));
	}
}

static bool done(struct device_case *c, struct lmd_queue *q, struct lmd_event *e)
{
	if (!q)
		return true;
	return ok(c->ops->event_record(c->be->state, q, e, &c->err)) &&
	       ok(c->ops->event_wait(c->be->state, e, UINT64_MAX, &c->err));
}

static bool buffer(struct device_case *c, struct lmd_buffer **out, uint32_t flags)
{
	return ok(c->ops->buffer_create(c->be->state, N_BYTE, flags, NULL, out, &c->err));
}

static bool up(struct device_case *c, struct lmd_queue *q, struct lmd_buffer *to, uint64_t at,
	       const void *from, uint64_t n, struct lmd_event *e)
{
	return ok(c->ops->buffer_copy(c->be->state, q, to, NULL, at, NULL, from, 0, n, e, &c->err));
}

static bool down(struct device_case *c, struct lmd_queue *q, void *to, struct lmd_buffer *from,
		 uint64_t at, uint64_t n, struct lmd_event *e)
{
	return ok(c->ops->buffer_copy(c->be->state, q, NULL, to, 0, from, NULL, at, n, e, &c->err));
}

static bool create_pool(struct device_case *c, const struct lmd_pool_desc *d)
{
	enum lmd_status st = c->ops->pool_create(c->be->state, d, &c->pool, &c->err);

	c->no_pool = st == LMD_UNSUPPORTED;
	return ok(st);
}

static bool pool_op(struct device_case *c, uint32_t kind, uint32_t src, uint32_t dst, uint32_t row0,
		    uint32_t n_row, void *host, size_t bytes)
{
	const struct lmd_pool_op op = {.kind = kind,
				       .src = src,
				       .dst = dst,
				       .row0 = row0,
				       .n_row = n_row,
				       .host = host,
				       .host_bytes = bytes};

	return ok(c->ops->pool_op(c->be->state, c->q, c->pool, &op, 1, NULL, &c->err)) &&
	       done(c, c->q, c->event);
}

static bool same(struct device_case *c, size_t n, const char *text)
{
	return !memcmp(c->want, c->have, n) || fail(c, text);
}

/* ---- copies and events ---- */

static bool copies_at_offsets(struct device_case *c)
{
	fill(c, c->want, N_BYTE);
	if (!buffer(c, &c->a, LMD_BUF_DEVICE) || !buffer(c, &c->b, LMD_BUF_DEVICE) ||
	    !up(c, c->q, c->a, 0, c->want, N_BYTE, NULL) ||
	    !ok(c->ops->buffer_copy(c->be->state, c->q, c->b, NULL, 256, c->a, NULL, 1024, 512,
				       NULL, &c->err)) ||
	    !down(c, c->q, c->have, c->b, 320, 128, NULL) || !done(c, c->q, c->event))
		return false;
	return !memcmp(c->have, c->want + 1024 + 64, 128) || fail(c, "a copy has other bytes");
}

static bool events_fire_after_their_work(struct device_case *c)
{
	fill(c, c->want, N_BYTE);
	if (!buffer(c, &c->a, LMD_BUF_DEVICE) || !up(c, c->q, c->a, 0, c->want, N_BYTE, NULL) ||
	    !down(c, c->q, c->have, c->a, 0, N_BYTE, NULL) || !done(c, c->q, c->event) ||
	    !same(c, N_BYTE, "a recorded event fired before the copy was complete"))
		return false;
	memset(c->have, 0, N_BYTE);
	return down(c, c->q, c->have, c->a, 0, N_BYTE, c->event) &&
	       ok(c->ops->event_wait(c->be->state, c->event, UINT64_MAX, &c->err)) &&
	       same(c, N_BYTE, "the event of a copy fired before the copy was complete");
}

static bool events_answer(struct device_case *c)
{
	enum lmd_status st = c->ops->event_wait(c->be->state, c->event2, 0, &c->err);

	if (st != LMD_INVALID)
		return fail(c, "waiting for an event that was never used is not LMD_INVALID");
	if (!ok(c->ops->event_record(c->be->state, c->q, c->event, &c->err)))
		return false;
	st = c->ops->event_wait(c->be->state, c->event, 0, &c->err);
	if (st != LMD_OK && st != LMD_TIMEOUT)
		return fail(c, "waiting without patience is neither LMD_OK nor LMD_TIMEOUT");
	for (int i = 0; i < 2; i++)
		if (!ok(c->ops->event_wait(c->be->state, c->event, UINT64_MAX, &c->err)))
			return false;
	st = c->ops->event_wait(c->be->state, c->event, 0, &c->err);
	return st == LMD_OK || fail(c, "an event that has fired does not answer at once");
}

/* A wait with a limit that has passed changes nothing: a later one waits for the work. */
static bool waits_that_time_out(struct device_case *c)
{
	fill(c, c->want, N_BYTE);
	if (!buffer(c, &c->a, LMD_BUF_DEVICE) || !up(c, c->q, c->a, 0, c->want, N_BYTE, NULL) ||
	    !down(c, c->q, c->have, c->a, 0, N_BYTE, c->event))
		return false;
	for (uint64_t ns = 0; ns < 4; ns++) {
		enum lmd_status st = c->ops->event_wait(c->be->state, c->event, ns, &c->err);

		if (st != LMD_OK && st != LMD_TIMEOUT)
			return fail(c, "a wait with a limit is neither LMD_OK nor LMD_TIMEOUT");
		if (st == LMD_OK)
			break;
	}
	return ok(c->ops->event_wait(c->be->state, c->event, UINT64_MAX, &c->err)) &&
	       same(c, N_BYTE, "a wait that timed out took the event for fired");
}

static bool queues_wait_for_events(struct device_case *c)
{
	fill(c, c->want, N_BYTE);
	if (!buffer(c, &c->a, LMD_BUF_DEVICE) ||
	    !up(c, c->q, c->a, 0, c->have, N_BYTE, NULL) || !done(c, c->q, c->event) ||
	    !up(c, c->q, c->a, 0, c->want, N_BYTE, c->event) ||
	    !ok(c->ops->queue_wait_event(c->be->state, c->q2, c->event, &c->err)) ||
	    !down(c, c->q2, c->have, c->a, 0, N_BYTE, NULL) || !done(c, c->q2, c->event2))
		return false;
	return same(c, N_BYTE, "a queue did not wait for an event of another one");
}

static bool mapped_buffers(struct device_case *c)
{
	void *p = NULL;

	fill(c, c->want, N_BYTE);
	if (!buffer(c, &c->a, LMD_BUF_PINNED) || !buffer(c, &c->b, LMD_BUF_DEVICE) ||
	    !ok(c->ops->buffer_map(c->be->state, c->a, &p, &c->err)))
		return false;
	memcpy(p, c->want, N_BYTE);
	if (!ok(c->ops->buffer_copy(c->be->state, c->q, c->b, NULL, 0, c->a, NULL, 0, N_BYTE,
				       NULL, &c->err)) ||
	    !done(c, c->q, c->event))
		return false;
	memset(p, 0, N_BYTE);
	if (!ok(c->ops->buffer_copy(c->be->state, c->q, c->a, NULL, 0, c->b, NULL, 0, N_BYTE,
				       NULL, &c->err)) ||
	    !done(c, c->q, c->event))
		return false;
	memcpy(c->have, p, N_BYTE);
	c->ops->buffer_unmap(c->be->state, c->a);
	return same(c, N_BYTE, "a mapped buffer has other bytes than its memory on the device");
}

/* ---- another device ---- */

static bool open_other(struct device_case *c)
{
	return ok(oc_backend_open(&c->other, c->be->factory, 1, c->be->host, NULL,
				  LMD_ACTIVATIONS_F32, &c->err)) &&
	       (!c->ops->queue_create ||
		(ok(c->ops->queue_create(c->other.state, 0, &c->other_q, &c->err)) &&
		 ok(c->ops->event_create(c->other.state, &c->other_event, &c->err)))) &&
	       ok(c->ops->buffer_create(c->other.state, N_BYTE, LMD_BUF_DEVICE, NULL, &c->other_a,
					&c->err)) &&
	       ok(c->ops->buffer_create(c->other.state, N_BYTE, LMD_BUF_DEVICE, NULL, &c->other_b,
					&c->err)) &&
	       buffer(c, &c->a, LMD_BUF_DEVICE);
}

static void close_other(struct device_case *c)
{
	if (!c->other.state)
		return;
	if (c->other_a)
		c->ops->buffer_destroy(c->other.state, c->other_a);
	if (c->other_b)
		c->ops->buffer_destroy(c->other.state, c->other_b);
	if (c->other_event)
		c->ops->event_destroy(c->other.state, c->other_event);
	if (c->other_q)
		c->ops->queue_destroy(c->other.state, c->other_q);
	oc_backend_close(&c->other);
}

/* A copy on the other device; events belong to the device whose queue they are on. */
static bool on_other(struct device_case *c, struct lmd_buffer *dst, void *dst_ptr,
		     struct lmd_buffer *src, const void *src_ptr)
{
	return ok(c->ops->buffer_copy(c->other.state, c->other_q, dst, dst_ptr, 0, src, src_ptr, 0,
				      N_BYTE, NULL, &c->err));
}

static bool other_done(struct device_case *c)
{
	if (!c->other_q)
		return true;
	return ok(c->ops->event_record(c->other.state, c->other_q, c->other_event, &c->err)) &&
	       ok(c->ops->event_wait(c->other.state, c->other_event, UINT64_MAX, &c->err));
}

/* Two devices keep their memory apart. */
static bool beside_another_device(struct device_case *c)
{
	fill(c, c->want, 2 * N_BYTE); /* the second half is for this device */
	if (!open_other(c) || !up(c, c->q, c->a, 0, c->want + N_BYTE, N_BYTE, NULL) ||
	    !on_other(c, c->other_a, NULL, NULL, c->want) ||
	    !down(c, c->q, c->have + N_BYTE, c->a, 0, N_BYTE, NULL) ||
	    !on_other(c, NULL, c->have, c->other_a, NULL) || !done(c, c->q, c->event) ||
	    !other_done(c))
		return false;
	return same(c, 2 * N_BYTE, "two devices do not keep what each of them was given");
}

/* Copies from the memory of this device to the other one's, in order. */
static bool copies_between_devices(struct device_case *c)
{
	fill(c, c->want, N_BYTE);
	if (!open_other(c) || !up(c, c->q, c->a, 0, c->want, N_BYTE, c->event) ||
	    (c->other_q && !ok(c->ops->queue_wait_event(c->other.state, c->other_q, c->event,
							&c->err))) ||
	    !on_other(c, c->other_b, NULL, c->a, NULL) ||
	    !on_other(c, NULL, c->have, c->other_b, NULL) || !other_done(c))
		return false;
	return same(c, N_BYTE, "a copy from another device's memory has other bytes");
}

/* ---- pages ---- */

static bool open_pages(struct device_case *c)
{
	static const struct lmd_group group = {.name = "full",
					       .kind = LMD_GROUP_PAGED,
					       .causal = 1,
					       .ratio = 1,
					       .q_space = LMD_SPACE_TOKENS,
					       .k_space = LMD_SPACE_TOKENS};
	struct lmd_cache caches[N_CACHE];
	uint32_t ids[N_CACHE] = {0, 1};
	struct lmd_pool_desc d = {.struct_size = sizeof(d),
				  .desc = &group,
				  .n_cache = N_CACHE,
				  .caches = caches,
				  .cache_ids = ids,
				  .n_page = N_PAGE,
				  .page_tokens = c->be->info.page_tokens,
				  .n_seq = 2,
				  .n_index = 2};

	for (uint32_t i = 0; i < N_CACHE; i++)
		caches[i] = (struct lmd_cache){.kind = LMD_CACHE_K_ONLY,
					       .n_head = 1,
					       .dk = i ? DK / 16 : DK / 8,
					       .dv = i ? DK / 16 : DK / 8,
					       .dtype_policy = LMD_KV_DTYPE_F32,
					       .k_dtype = LMD_DTYPE_F32,
					       .v_dtype = LMD_DTYPE_F32};
	c->row_bytes = (DK / 8 + DK / 16) * sizeof(float);
	return create_pool(c, &d);
}

static bool copy_of_a_page(struct device_case *c)
{
	const uint32_t n = c->be->info.page_tokens;
	size_t bytes;

	if (!open_pages(c))
		return false;
	bytes = n * c->row_bytes;
	fill_floats(c, c->want, bytes / 4);
	return pool_op(c, LMD_POOL_IMPORT, 0, 1, 0, n, c->want, bytes) &&
	       pool_op(c, LMD_POOL_COPY_PAGE, 1, 3, 0, 0, NULL, 0) &&
	       pool_op(c, LMD_POOL_EXPORT, 3, 0, 0, n, c->have, bytes) &&
	       same(c, bytes, "the copy of a page has other rows");
}

/* Some rows of a page: the others stay. */
static bool rows_of_a_page(struct device_case *c)
{
	const uint32_t n = c->be->info.page_tokens, at = n / 2, few = 3;
	unsigned char *old = c->want + 2 * N_BYTE, *some = c->have + 2 * N_BYTE;
	const size_t first = DK / 8 * sizeof(float), bytes = n * (first + first / 2);

	if (!open_pages(c))
		return false;
	fill_floats(c, old, bytes / 4);
	fill_floats(c, some, few * c->row_bytes / 4);
	memcpy(c->want, old, bytes);
	memcpy(c->want + at * first, some, few * first); /* rows of cache 0, then of cache 1 */
	memcpy(c->want + n * first + at * first / 2, some + few * first, few * first / 2);
	if (!pool_op(c, LMD_POOL_IMPORT, 0, 2, 0, n, old, bytes) ||
	    !pool_op(c, LMD_POOL_IMPORT, 0, 2, at, few, some, few * c->row_bytes) ||
	    !pool_op(c, LMD_POOL_EXPORT, 2, 0, 0, n, c->have, bytes) ||
	    !same(c, bytes, "importing rows in the middle of a page changed others"))
		return false;
	memcpy(c->want, some, few * c->row_bytes);
	return pool_op(c, LMD_POOL_EXPORT, 2, 0, at, few, c->have, few * c->row_bytes) &&
	       same(c, few * c->row_bytes, "exported rows are not those that were asked for");
}

/* Writes n entries of a sequence slot's page table, from `first` on; the device must refuse it,
 * at once or when the operation is done. */
static bool refuses_table(struct device_case *c, uint32_t seq, uint32_t first, uint32_t *pages,
			  uint32_t n)
{
	const struct lmd_pool_op op = {.kind = LMD_POOL_SET_TABLE,
				       .src = seq,
				       .dst = first,
				       .n_row = n,
				       .host = pages,
				       .host_bytes = n * sizeof(*pages)};

	if (c->ops->pool_op(c->be->state, c->q, c->pool, &op, 1, NULL, &c->err) == LMD_OK &&
	    done(c, c->q, c->event))
		return fail(c, "entries that do not belong in the page table are accepted");
	return true;
}

static bool entries_of_a_page_table(struct device_case *c)
{
	uint32_t good[2] = {N_PAGE - 1, 0}, bad[2] = {0, N_PAGE};

	return open_pages(c) && pool_op(c, LMD_POOL_SET_TABLE, 1, 0, 0, 2, good, sizeof(good)) &&
	       refuses_table(c, 0, 0, bad, 2) && refuses_table(c, 0, 1, good, 2) &&
	       refuses_table(c, 2, 0, good, 1);
}

/* ---- state slots ---- */

static bool open_slots(struct device_case *c, size_t *bytes)
{
	static const struct lmd_group group = {.name = "state",
					       .kind = LMD_GROUP_STATE,
					       .causal = 1,
					       .ratio = 1,
					       .q_space = LMD_SPACE_TOKENS,
					       .k_space = LMD_SPACE_TOKENS};
	static const struct lmd_cache caches[N_CACHE] = {
		{.kind = LMD_CACHE_CONV,
		 .n_head = 2,
		 .dk = 3,
		 .dv = 8,
		 .dtype_policy = LMD_KV_DTYPE_F32},
		{.kind = LMD_CACHE_STATE,
		 .n_head = 2,
		 .dk = 4,
		 .dv = 8,
		 .dtype_policy = LMD_KV_DTYPE_F32},
	};
	static const uint32_t ids[N_CACHE] = {0, 1};
	const struct lmd_pool_desc d = {.struct_size = sizeof(d),
					.desc = &group,
					.n_cache = N_CACHE,
					.caches = caches,
					.cache_ids = ids,
					.n_seq = 2,
					.n_slot = N_SLOT};

	*bytes = (3 * 16 + 2 * 32) * sizeof(float);
	return create_pool(c, &d);
}

static bool copy_of_a_slot(struct device_case *c)
{
	unsigned char *other = c->have + N_BYTE;
	size_t n;

	if (!open_slots(c, &n))
		return false;
	fill_floats(c, c->want, n / 4);
	fill_floats(c, other, n / 4);
	return pool_op(c, LMD_POOL_IMPORT, 0, 1, 0, 0, c->want, n) &&
	       pool_op(c, LMD_POOL_IMPORT, 0, 2, 0, 0, other, n) &&
	       pool_op(c, LMD_POOL_COPY_SLOT, 1, 2, 0, 0, NULL, 0) &&
	       pool_op(c, LMD_POOL_EXPORT, 2, 0, 0, 0, c->have, n) &&
	       same(c, n, "the copy of a state slot is another state") &&
	       pool_op(c, LMD_POOL_EXPORT, 1, 0, 0, 0, c->have, n) &&
	       same(c, n, "copying a state slot changed it");
}

static bool zeros_of_a_slot(struct device_case *c)
{
	size_t n;

	if (!open_slots(c, &n))
		return false;
	fill_floats(c, c->want, n / 4);
	if (!pool_op(c, LMD_POOL_IMPORT, 0, 1, 0, 0, c->want, n) ||
	    !pool_op(c, LMD_POOL_IMPORT, 0, 2, 0, 0, c->want, n) ||
	    !pool_op(c, LMD_POOL_ZERO_SLOT, 0, 1, 0, 0, NULL, 0) ||
	    !pool_op(c, LMD_POOL_EXPORT, 2, 0, 0, 0, c->have, n) ||
	    !same(c, n, "zeroing a state slot changed another one"))
		return false;
	memset(c->want, 0, n);
	return pool_op(c, LMD_POOL_EXPORT, 1, 0, 0, 0, c->have, n) &&
	       same(c, n, "a state slot is not zero");
}

/* ---- running ---- */

#define NEEDS_BUFFERS 1u
#define NEEDS_QUEUES  2u
#define NEEDS_TWO     4u /* devices */
#define NEEDS_PEER    8u

static const struct {
	const char *name;
	bool (*run)(struct device_case *c);
	uint32_t needs;
} cases[] = {
	{"copies at offsets", copies_at_offsets, NEEDS_BUFFERS},
	{"events fire after their work", events_fire_after_their_work,
	 NEEDS_BUFFERS | NEEDS_QUEUES},
	{"events answer", events_answer, NEEDS_QUEUES},
	{"queues wait for events", queues_wait_for_events, NEEDS_BUFFERS | NEEDS_QUEUES},
	{"waits that time out", waits_that_time_out, NEEDS_BUFFERS | NEEDS_QUEUES},
	{"mapped buffers", mapped_buffers, NEEDS_BUFFERS},
	{"beside another device", beside_another_device, NEEDS_BUFFERS | NEEDS_TWO},
	{"copies between devices", copies_between_devices, NEEDS_BUFFERS | NEEDS_TWO | NEEDS_PEER},
	{"copy of a page", copy_of_a_page, 0},
	{"rows of a page", rows_of_a_page, 0},
	{"entries of a page table", entries_of_a_page_table, 0},
	{"copy of a slot", copy_of_a_slot, 0},
	{"zeros of a slot", zeros_of_a_slot, 0},
};

static bool open_queues(struct device_case *c)
{
	if (!c->ops->queue_create)
		return true;
	return ok(c->ops->queue_create(c->be->state, 0, &c->q, &c->err)) &&
	       ok(c->ops->queue_create(c->be->state, 0, &c->q2, &c->err)) &&
	       ok(c->ops->event_create(c->be->state, &c->event, &c->err)) &&
	       ok(c->ops->event_create(c->be->state, &c->event2, &c->err));
}

static void close_case(struct device_case *c)
{
	struct lmd_error err = c->err;

	if (c->q && c->event)
		(void)done(c, c->q, c->event);
	if (c->q2 && c->event2)
		(void)done(c, c->q2, c->event2);
	c->err = err;
	c->ops->pool_destroy(c->be->state, c->pool);
	close_other(c);
	if (c->a)
		c->ops->buffer_destroy(c->be->state, c->a);
	if (c->b)
		c->ops->buffer_destroy(c->be->state, c->b);
	if (c->event)
		c->ops->event_destroy(c->be->state, c->event);
	if (c->event2)
		c->ops->event_destroy(c->be->state, c->event2);
	if (c->q)
		c->ops->queue_destroy(c->be->state, c->q);
	if (c->q2)
		c->ops->queue_destroy(c->be->state, c->q2);
}

/* Returns what the device declares not to have of what a case needs; NULL: nothing. */
static const char *lacks(const struct oc_backend *be, uint32_t needs)
{
	if (needs & NEEDS_BUFFERS && (be->info.caps & LMD_DEV_HOST_MEMORY || !be->ops->buffer_create))
		return "it computes in host memory and has no buffers";
	if (needs & NEEDS_QUEUES && !be->ops->queue_create)
		return "it has no queues: every call is complete when it returns";
	if (needs & NEEDS_TWO && be->n_device < 2)
		return "the backend has one device";
	if (needs & NEEDS_PEER && !(be->info.caps & LMD_DEV_PEER))
		return "it does not copy from another device's memory (LMD_DEV_PEER)";
	return NULL;
}

static const char *name_of(uint32_t i)
{
	return cases[i].name;
}

static void run_case(struct oc_backend *be, uint32_t i, uint64_t seed, void *state,
		     struct lmi_opcase_result *r)
{
	enum lmi_opcase_verdict verdict = LMI_OPCASE_FAIL;
	struct device_case *c = state;
	const char *missing = lacks(be, cases[i].needs);

	*c = (struct device_case){.be = be, .ops = be->ops, .rng = seed + i};
	if (missing)
		(void)lmd_fail(&c->err, LMD_UNSUPPORTED, "%s", missing);
	else if (open_queues(c) && cases[i].run(c))
		verdict = LMI_OPCASE_PASS;
	if (missing || c->no_pool)
		verdict = LMI_OPCASE_SKIP;
	close_case(c);
	*r = (struct lmi_opcase_result){.op = "device",
					.name = cases[i].name,
					.layout = "one device",
					.setting = "f32",
					.why = "copies: the same bits",
					.verdict = verdict,
					.text = verdict == LMI_OPCASE_PASS ? "" : c->err.text};
}

const struct oc_device_set oc_device_cases = {
	.n = LMD_LEN(cases), .state_bytes = sizeof(struct device_case), .name = name_of, .run = run_case};
